"""Speed as ratios: `python -m benchmarks` prints one line for each figure the project holds itself to."""
