"""Random roots of brokers: logs of all codecs and magics, in segments, with transactions, headers and damage."""

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from logstore.batch.compression.codec import Codec, compress
from logstore.batch.control import ControlType, EndTransactionMarker
from logstore.offline.log_file import LogFile
from tests.data.replicas import PROJECT
from tests.logstore.batches import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, batch, record
from tests.replication.copies.audit.spark.random_records import RandomRecords

BASE_TIMESTAMP: Final = 1_700_000_000_000
NO_TIMESTAMP_OF_SPARK: Final = 2**62
"""Milliseconds: a row has NULL for it."""
NO_PRODUCER: Final = -1
TOPICS: Final = ("orders", "order_lines", "pay.ments")
LEGACY: Final = sorted((PROJECT / "tests/data/legacy").glob("*.log"))
WORDS: Final = (b"k1", b"k2", b"Gr\xc3\xbc\xc3\x9fe", b"\xff\x00\xfe", b"")
"""Keys and values that conditions meet again."""


@dataclass
class RandomPartition:
    """One log as a leader would write it, and what a copy of it may look like."""

    random: random.Random
    content: list[bytes] = field(default_factory=list)
    offset: int = 0
    epoch: int = 0
    open: set[int] = field(default_factory=set)
    """Producers with a transaction."""

    def __post_init__(self) -> None:
        self.offset = self.random.choice([0, 0, 7, 2**40])
        for _ in range(self.random.randint(1, 14)):
            self.epoch += self.random.random() < 0.2
            producer = self.random.choice([NO_PRODUCER, NO_PRODUCER, 1, 2])
            if producer in self.open and self.random.random() < 0.5:
                self._end(producer)
            else:
                self._send(producer)

    def _send(self, producer: int) -> None:
        deltas, times, records = RandomRecords.draw(self.random, self.random.randint(1, 5), self._bytes)
        codec = self.random.choice(list(Codec))
        base_timestamp = self.random.choice([BASE_TIMESTAMP] * 19 + [NO_TIMESTAMP_OF_SPARK])
        section = b"".join(records)
        is_transactional = producer != NO_PRODUCER and (producer in self.open or self.random.random() < 0.5)
        if is_transactional:
            self.open.add(producer)
        self.content.append(
            batch(
                records=records,
                section=section if codec is Codec.NONE else compress(codec, section),
                base_offset=self.offset,
                leader_epoch=self.epoch,
                attributes=codec
                | (LOG_APPEND_TIME if self.random.random() < 0.2 else 0)
                | (TRANSACTIONAL if is_transactional else 0),
                last_offset_delta=deltas[-1],
                base_timestamp=base_timestamp,
                max_timestamp=base_timestamp + max(times),
                producer_id=producer,
                producer_epoch=-1 if producer == NO_PRODUCER else 0,
                base_sequence=-1 if producer == NO_PRODUCER else self.random.choice([5, 2**31 - 2]),
            )
        )
        self.offset += deltas[-1] + 1

    def _end(self, producer: int) -> None:
        kind = self.random.choice([ControlType.ABORT, ControlType.COMMIT])
        marker = EndTransactionMarker(kind, 0, 3).record(BASE_TIMESTAMP)
        self.content.append(
            batch(
                base_offset=self.offset,
                leader_epoch=self.epoch,
                records=[record(key=marker.key, value=marker.value)],
                attributes=TRANSACTIONAL | CONTROL,
                base_timestamp=BASE_TIMESTAMP + 50,
                max_timestamp=BASE_TIMESTAMP + 50,
                producer_id=producer,
                producer_epoch=0,
            )
        )
        self.open.remove(producer)
        self.offset += 1

    def _bytes(self) -> bytes | None:
        return self.random.choice([None, *WORDS, self.random.randbytes(self.random.randint(1, 90))])

    def write(self, directory: Path, *, damages: bool) -> None:
        """Write a copy: its segments, most with indexes, and perhaps without its last batches, or damaged."""
        directory.mkdir(parents=True)
        kept = self.content[: self.random.choice([len(self.content), self.random.randint(1, len(self.content))])]
        first = 0
        while first < len(kept):
            last = self.random.randint(first + 1, len(kept))
            base = int.from_bytes(kept[first][:8])
            pieces = [
                self._damaged(each) if damages and self.random.random() < 0.2 else each for each in kept[first:last]
            ]
            file = directory / f"{base:020d}.log"
            file.write_bytes(b"".join(pieces))
            if not damages and self.random.random() < 0.7:
                self._index(file, base)
            first = last

    def _damaged(self, encoded: bytes) -> bytes:
        data = bytearray(encoded)
        match self.random.choice(["flip", "magic", "before", "lie"]):
            case "flip":
                data[self.random.randrange(61, len(data))] ^= 1 << self.random.randrange(8)
            case "magic":
                data[16] = 9
            case "before":
                data[:0] = self.random.randbytes(self.random.randint(1, 40))
            case _:
                is_marker = data[22] & CONTROL
                return encoded if is_marker else self._lying(encoded)
        return bytes(data)

    def _lying(self, encoded: bytes) -> bytes:
        """Say that there are more records than there are, under a right checksum."""
        base, epoch = int.from_bytes(encoded[:8]), int.from_bytes(encoded[12:16])
        return batch(base_offset=base, leader_epoch=epoch, records=[record()], record_count=2, last_offset_delta=1)

    def _index(self, file: Path, base: int) -> None:
        """Write the indexes that a broker with a tiny `index.interval.bytes` would."""
        offsets = times = b""
        largest = (-1, 0)
        for each in LogFile.open(file).batches():
            largest = max(largest, (each.max_timestamp, each.last_offset))
            if each.position:
                offsets += (each.last_offset - base).to_bytes(4) + each.position.to_bytes(4)
                times += largest[0].to_bytes(8) + (largest[1] - base).to_bytes(4)
        file.with_suffix(".index").write_bytes(offsets)
        file.with_suffix(".timeindex").write_bytes(times)


def write_roots(scratch: Path, chance: random.Random) -> list[Path]:
    """Write the roots of two brokers with the same partitions, in each of which a copy may lack or be damaged."""
    roots = [scratch / name for name in ("broker-1", "broker-2")]
    for topic in TOPICS:
        for number in range(chance.randint(1, 2)):
            log, damages = RandomPartition(chance), chance.random() < 0.25
            for root in roots:
                log.write(root / f"{topic}-{number}", damages=damages)
    _write_legacy(chance.choice(roots) / "legacy-0", chance)
    return roots


def _write_legacy(directory: Path, chance: random.Random) -> None:
    """Copy a message set of magic 0 or 1, in a segment after its first offset."""
    directory.mkdir()
    source = chance.choice(LEGACY)
    first = next(iter(LogFile.open(source).batches())).base_offset
    shutil.copy(source, directory / f"{first:020d}.log")
