"""Counts of few things as flexible versions write them: one more than they are, in a byte (KIP-482)."""

from typing import Final

NULL: Final = 0
EMPTY: Final = 1
ONE: Final = 2
