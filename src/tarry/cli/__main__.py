"""``python -m tarry.cli`` is the command line, as ``python -m tarry`` is."""

from tarry.cli import main

if __name__ == "__main__":
    main()
