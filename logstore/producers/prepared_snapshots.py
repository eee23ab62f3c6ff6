"""Producer snapshots as they are going to be: what is to become of the files is known, and not yet done."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from logstore.producers.producer_snapshots import ProducerSnapshots


class PreparedSnapshots(ProducerSnapshots):
    """Keeps all removals and writes for `carry_out`. What was written meanwhile cannot be read before that."""

    def __init__(self, snapshots: ProducerSnapshots) -> None:
        """Begin with the files as they are."""
        self._snapshots = snapshots
        self.directory: Path = snapshots.directory
        self._offsets = list(snapshots.offsets)
        self._steps: list[Callable[[], object]] = []

    def write_encoded(self, offset: int, data: bytes) -> None:
        """Write one later."""
        self._steps.append(partial(self._snapshots.write_encoded, offset, data))
        self._offsets = sorted({*self._offsets, offset})

    def remove(self, offset: int) -> None:
        """Remove one later."""
        self._steps.append(partial(self._snapshots.remove, offset))
        self._offsets = [each for each in self._offsets if each != offset]

    def carry_out(self) -> ProducerSnapshots:
        """Do all of it, in this order; return the snapshots as they are now. Raises OSError."""
        for step in self._steps:
            step()
        return self._snapshots
