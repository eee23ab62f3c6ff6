"""What both sides work on: batches to append, whole logs, and queries about them."""

import os
import random
import shutil
import struct
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.columns import RecordColumns
from logstore.batch.compression.codec import Codec
from logstore.batch.layout import seal
from logstore.batch.record import Record
from logstore.kernels.decode import decode_chunks
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile

SMALL_BATCH, LARGE_BATCH = 16 << 10, 1 << 20
RECORD_BYTES: Final = 110
"""About what a record of 100 bytes without a key takes."""
POOL_BYTES: Final = 1 << 20
"""So many bytes of batches are appended over and over: what has just come from a network is in the cache too."""
FIRST_TIMESTAMP: Final = 1_700_000_000_000
ANY_SIZE: Final = 100 << 20
ONE_SEGMENT: Final = (1 << 31) - 1
"""The largest size that a segment can be set to."""
_LETTERS: Final = bytes(97 + byte % 26 for byte in range(256))
_OFFSET: Final = struct.Struct(">q")
_TIMES: Final = struct.Struct(">qq")
_TIMES_POSITION: Final = 27


def value(rng: random.Random) -> bytes:
    """100 bytes of text that compresses by about half."""
    return rng.randbytes(50).translate(_LETTERS) + b"alike" * 10


def encoded(batch_bytes: int, seed: int, codec: Codec = Codec.NONE) -> bytearray:
    """A batch of at most `batch_bytes` before compression, of records of 100 bytes that are a millisecond apart."""
    rng = random.Random(seed)
    count = max(batch_bytes // RECORD_BYTES, 1)
    records = [Record(0, FIRST_TIMESTAMP + number, None, value(rng)) for number in range(count)]
    return bytearray(encode_batch(records, BatchTemplate(leader_epoch=0, codec=codec)))


def records_of(batch: bytes | bytearray) -> int:
    """How many records the batch has."""
    return int.from_bytes(batch[57:61])


def write_batches(path: Path, batch_bytes: int, at_once: int, codec: Codec = Codec.NONE) -> int:
    """Write batches for appending to a file; return the bytes of a call of `at_once` of them.

    All calls are of one size: where a codec decides about sizes, all batches are the same.
    """
    count = max(POOL_BYTES // batch_bytes // at_once, 1) * at_once
    batches = [encoded(batch_bytes, seed if codec is Codec.NONE else 0, codec) for seed in range(count)]
    path.write_bytes(b"".join(batches))
    return len(batches[0]) * at_once


def config_of(segment_bytes: int) -> LogConfig:
    """What both sides are set to."""
    return LogConfig(
        segment_bytes=segment_bytes,
        retention_ms=-1,
        max_message_bytes=ANY_SIZE,
        message_timestamp_after_max_ms=2**63 - 1,
    )


def write_log(directory: Path, size: int, segment_bytes: int) -> int:
    """Write a log of about `size` bytes, one batch of 16 KiB after the other as a broker does; return its end."""
    shutil.rmtree(directory.parent, ignore_errors=True)
    directory.parent.mkdir(parents=True)
    batch = encoded(SMALL_BATCH, 0)
    with Log.open(directory, config_of(segment_bytes)) as log:
        for number in range(size // len(batch)):
            _place(batch, number)
            log.append_batches(batch)
        return log.log_end_offset


def _place(batch: bytearray, number: int) -> None:
    """Make this batch follow others of its size, in offsets and times."""
    records = records_of(batch)
    first = FIRST_TIMESTAMP + number * records
    _OFFSET.pack_into(batch, 0, number * records)
    _TIMES.pack_into(batch, _TIMES_POSITION, first, first + records - 1)
    seal(batch)


def clone(source: Path, directory: Path, *, cut_at: int | None = None) -> Path:
    """Make the same log for one side: logs as hard links, except the one to be cut; all else as copies."""
    shutil.rmtree(directory.parent, ignore_errors=True)
    directory.mkdir(parents=True)
    logs = sorted(source.glob("*.log"))
    cut = [log for log in logs if cut_at is not None and int(log.stem) <= cut_at][-1:]
    for path in source.iterdir():
        if path in logs and path not in cut:
            os.link(path, directory / path.name)
        elif not path.name.endswith("checkpoint") or path.name == "leader-epoch-checkpoint":
            shutil.copyfile(path, directory / path.name)
    return directory


def crashed(source: Path, directory: Path) -> Path:
    """Make the same log for one side, as a crash leaves it before anything was flushed."""
    clone(source, directory)
    for path in _all_but_logs(directory):
        path.unlink()
    return directory


def _all_but_logs(directory: Path) -> Iterator[Path]:
    return (path for path in list(directory.iterdir()) if path.suffix != ".log")


def write_queries(path: Path, log_end_offset: int, count: int) -> None:
    """Write offsets to read at, then timestamps to look for."""
    rng = random.Random(1)
    offsets = [rng.randrange(log_end_offset) for _ in range(count)]
    write_numbers(path, [*offsets, *(FIRST_TIMESTAMP + offset for offset in offsets)])


def write_numbers(path: Path, numbers: Iterable[int]) -> None:
    """Write 64-bit numbers, as Kafka's side reads them."""
    numbers = list(numbers)
    path.write_bytes(struct.pack(f">{len(numbers)}q", *numbers))


class Logs:
    """Logs that were closed in order, each written when it is first asked for, one batch of 16 KiB a call."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._made: dict[str, tuple[Path, int]] = {}

    def log(self, name: str, size: int, segment_bytes: int) -> tuple[Path, int]:
        """Return the partition directory of the log of that name, and the offset that it ends at."""
        if name not in self._made:
            directory = self._work / name / "t-0"
            self._made[name] = directory, write_log(directory, size, segment_bytes)
        return self._made[name]

    def segment(self, size: int) -> tuple[Path, int]:
        """Return the only log file of a log of one segment, and the offset that it ends at."""
        directory, end = self.log("one-segment", size, ONE_SEGMENT)
        [path] = directory.glob("*.log")
        return path, end


def decoded(file: LogFile) -> Iterator[RecordColumns]:
    """Decode all records of a log file, headers read on the way."""
    return chain.from_iterable(decode_chunks(file.array, chunk) for chunk in file.scan(check_crc=False))
