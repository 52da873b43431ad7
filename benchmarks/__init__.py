"""Speed as ratios: `python -m benchmarks` prints one line for each figure the project holds itself to."""

from tarry.game import blocks

blocks.FEW_ROUNDS = 0  # figures are of compiled rounds, however few
