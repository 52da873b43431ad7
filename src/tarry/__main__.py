"""``python -m tarry`` is the command line."""

from tarry.cli import main

if __name__ == "__main__":
    main()
