"""What both sides work on: batches to append, whole logs, and queries about them."""

import os
import random
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from logstore.batch_template import BatchTemplate, seal
from logstore.encoding import encode_batch
from logstore.log import Log
from logstore.log_config import LogConfig
from logstore.record import Record

SMALL_BATCH, LARGE_BATCH = 16 << 10, 1 << 20
RECORD_BYTES: Final = 110
"""About what a record of 100 bytes without a key takes."""
POOL_BYTES: Final = 1 << 20
"""So many bytes of batches are appended over and over: what has just come from a network is in the cache too."""
FIRST_TIMESTAMP: Final = 1_700_000_000_000
ANY_SIZE: Final = 100 << 20
_OFFSET: Final = struct.Struct(">q")
_TIMES: Final = struct.Struct(">qq")
_TIMES_POSITION: Final = 27


def encoded(batch_bytes: int, seed: int) -> bytearray:
    """A batch of at most `batch_bytes`, of records of 100 bytes that are a millisecond apart."""
    rng = random.Random(seed)
    count = batch_bytes // RECORD_BYTES
    records = [Record(0, FIRST_TIMESTAMP + number, None, rng.randbytes(100)) for number in range(count)]
    return bytearray(encode_batch(records, BatchTemplate(leader_epoch=0)))


def records_of(batch: bytes | bytearray) -> int:
    """How many records the batch has."""
    return int.from_bytes(batch[57:61])


def write_batches(path: Path, batch_bytes: int, at_once: int) -> int:
    """Write batches for appending to a file; return the bytes of a call of `at_once` of them."""
    count = max(POOL_BYTES // batch_bytes // at_once, 1) * at_once
    batches = [encoded(batch_bytes, seed) for seed in range(count)]
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
    """Let this batch follow others of its size, in offsets and times."""
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
    timestamps = [FIRST_TIMESTAMP + offset for offset in offsets]
    path.write_bytes(struct.pack(f">{2 * count}q", *offsets, *timestamps))
