"""Copies of one partition that a test describes batch by batch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epoch.checkpoint import format_checkpoint
from logstore import BatchTemplate, Codec, Header, Record, encode_batch, encode_end_transaction
from logstore.batch.control import ControlType, EndTransactionMarker
from replication.salvage import PartitionReport, SalvagedRecord, SalvageOptions, plan_salvage

COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT

Part = tuple[int, bytes]
"""A batch and the leader epoch under which it was written; offsets are as the parts follow each other."""


def data(
    epoch: int,
    *values: bytes | None,
    key: bytes | None = None,
    timestamp: int = 1_000,
    headers: tuple[Header, ...] = (),
    producer: int = -1,
    producer_epoch: int = 0,
    sequence: int = 0,
    transactional: bool = False,
    codec: Codec = Codec.NONE,
) -> Part:
    """A batch whose records have one key and time."""
    known = {"producer_id": producer, "producer_epoch": producer_epoch, "base_sequence": sequence}
    numbered: dict[str, Any] = known if producer >= 0 else {}
    template = BatchTemplate(codec=codec, is_transactional=transactional, **numbered)
    records = [Record(-1, timestamp, key, value, headers) for value in values]
    return epoch, bytes(encode_batch(records, template))


def marker(epoch: int, kind: ControlType, producer: int, producer_epoch: int = 0) -> Part:
    """The end of a producer's transaction."""
    return epoch, bytes(encode_end_transaction(EndTransactionMarker(kind, 0, 0), producer, producer_epoch, 1_000))


def write_copy(root: Path, parts: Sequence[Part], *, topic: str = "t", cleaned: int | None = None) -> Path:
    """Write a broker's root with one partition; `cleaned` is up to where a broker has compacted it."""
    offset = 0
    content = bytearray()
    epochs: dict[int, int] = {}
    for epoch, batch in parts:
        epochs.setdefault(epoch, offset)
        placed = bytearray(batch)
        placed[0:8] = offset.to_bytes(8, "big")
        placed[12:16] = epoch.to_bytes(4, "big")
        content += placed
        offset += int.from_bytes(batch[23:27], "big") + 1
    partition = root / f"{topic}-0"
    partition.mkdir(parents=True)
    (partition / f"{0:020d}.log").write_bytes(content)
    (partition / "leader-epoch-checkpoint").write_bytes(format_checkpoint(list(epochs.items())))
    if cleaned is not None:
        (root / "cleaner-offset-checkpoint").write_bytes(format_checkpoint([(topic, 0, cleaned)]))
    return root


def salvage(
    directory: Path, kept: Sequence[Part], *losing: Sequence[Part], cleaned: int | None = None, **options: Any
) -> tuple[list[SalvagedRecord], PartitionReport]:
    """What is salvaged where `broker-0` has the kept copy."""
    roots = [
        write_copy(directory / f"broker-{number}", parts, cleaned=cleaned)
        for number, parts in enumerate((kept, *losing))
    ]
    records: list[SalvagedRecord] = []
    [report] = plan_salvage(roots, "broker-0", SalvageOptions(**options)).reports(records.append)
    return records, report


def values(records: Sequence[SalvagedRecord]) -> list[bytes | None]:
    return [record.value for record in records]
