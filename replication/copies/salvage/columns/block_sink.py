"""What takes salvaged records as columns."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from replication.copies.salvage.columns.salvaged_block import SalvagedBlock
from replication.copies.salvage.salvaged_record import SalvagedRecord


class BlockSink(ABC):
    """Takes salvaged records some thousand at once, without an object of each; or one by one, as any sink does."""

    @abstractmethod
    def take(self, block: SalvagedBlock) -> None:
        """Accept records, which follow those accepted before."""

    @abstractmethod
    def __call__(self, record: SalvagedRecord) -> None:
        """Accept a record."""


class _Discard(BlockSink):
    def take(self, block: SalvagedBlock) -> None:
        """Do nothing with them."""

    def __call__(self, record: SalvagedRecord) -> None:
        """Do nothing with it."""


DISCARD: Final = _Discard()
"""Does nothing with records: a dry run."""


def give(sink: Callable[[SalvagedRecord], object], block: SalvagedBlock) -> None:
    """Give records to a sink, in order."""
    if isinstance(sink, BlockSink):
        sink.take(block)
        return
    for record in block.objects():
        sink(record)
