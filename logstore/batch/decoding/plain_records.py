"""Whether records are made into objects in plain Python or by the compiled kernel."""

from typing import Any, Final

from epoch.compiling.awaited_kernel import AwaitedKernel

FEWEST: Final = 8
"""Records of one batch for which calling the kernel pays."""
FEWEST_BYTES: Final = 2_048
"""Bytes of batches for which it pays to look at them together."""


def _load_objects() -> Any:
    from logstore.batch.decoding.object_decoder import ObjectDecoder  # noqa: PLC0415  it loads numpy

    list(ObjectDecoder().runs(memoryview(b""), []))
    return ObjectDecoder


OBJECTS: Final = AwaitedKernel(_load_objects, patience=1)
"""The kernel for many records: asked for once there were many."""


class PlainRecords:
    """Bounds what a process decodes in plain Python: few records need not pay for the kernel's loading."""

    __slots__ = ("records_left",)

    def __init__(self, records: int) -> None:
        """Allow this many records to be decoded in plain Python."""
        self.records_left: int = records

    @property
    def is_spent(self) -> bool:
        """Whether the kernel makes the records of large batches from now on."""
        return self.records_left <= 0 and OBJECTS.ready() is not None

    def covers(self, records: int) -> bool:
        """Return whether this many more records of a batch are decoded in plain Python, and count them."""
        if records < FEWEST:
            self.records_left -= records
            return True
        if records > self.records_left:
            self.records_left = 0
            return OBJECTS.ready() is None
        self.records_left -= records
        return True


PLAIN_RECORDS: Final = PlainRecords(50_000)
"""What is left to this process: so many take as long as the kernels' code, once it is kept, takes to load."""
