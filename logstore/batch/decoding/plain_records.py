"""Whether records are made into objects in plain Python or by the compiled kernel."""

from typing import Final

FEWEST: Final = 8
"""Records of one batch for which calling the kernel pays."""
FEWEST_BYTES: Final = 2_048
"""Bytes of batches for which it pays to look at them together."""


class PlainRecords:
    """Bounds what a process decodes in plain Python: few records need not pay for the kernel's loading."""

    __slots__ = ("records_left",)

    def __init__(self, records: int) -> None:
        """Let so many records be decoded in plain Python."""
        self.records_left = records

    @property
    def is_spent(self) -> bool:
        """Whether the kernel is loaded, or is to be."""
        return self.records_left <= 0

    def covers(self, records: int) -> bool:
        """Tell whether so many more records of a batch are decoded in plain Python, and count them."""
        if records < FEWEST:
            self.records_left -= records
            return True
        if records > self.records_left:
            self.records_left = 0
            return False
        self.records_left -= records
        return True


PLAIN_RECORDS: Final = PlainRecords(50_000)
"""What is left to this process: so many take as long as the kernels' code, once it is kept, takes to load."""
