"""A partition made for measuring: one segment of 16 KiB batches of 100-byte records, with its indexes.

It is written a batch at a time, as a broker does, since how a file was written decides how fast it maps, and kept in
build/bench.
"""

import functools
import shutil
from pathlib import Path

from bench.room import BUILD, require_room
from epoch.checkpoint import format_checkpoint
from tests.logstore.batches import batch, record
from tests.made_once import only_maker

BATCH_BYTES = 16 << 10
RECORD_BYTES = 100
RECORDS = BATCH_BYTES // RECORD_BYTES - 1
TIMESTAMP = 1_700_000_000_000
LOG_NAME = "00000000000000000000.log"


@functools.cache
def one_batch() -> bytes:
    """A batch of as many records of 100 bytes as 16 KiB hold."""
    values = [RECORD_BYTES - len(record(offset_delta=i, key=b"key%05d" % i, value=b"")) - 2 for i in range(RECORDS)]
    made = [
        record(offset_delta=i, key=b"key%05d" % i, value=bytes(97 + j % 26 for j in range(size)))
        for i, size in enumerate(values)
    ]
    assert {len(content) for content in made} == {RECORD_BYTES}
    return batch(records=made, base_timestamp=TIMESTAMP, max_timestamp=TIMESTAMP)


def partition(size: int) -> Path:
    """Write a partition whose log has about `size` bytes, unless it is there. Skips where there is no room for it."""
    directory = BUILD / f"bench-{size}"
    require_room(memory=size)
    with only_maker(directory):
        if not directory.exists():
            require_room(disk=size)
            partial = directory.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            _write(partial, size // len(one_batch()))
            partial.rename(directory)
    return directory


def log(size: int) -> Path:
    """The partition's `.log` file."""
    return partition(size) / LOG_NAME


def _write(directory: Path, batches: int) -> None:
    content = one_batch()[8:]
    with open(directory / LOG_NAME, "wb", buffering=0) as file:
        # The base offset is not under the checksum.
        file.writelines((number * RECORDS).to_bytes(8) + content for number in range(batches))
    entries = (
        ((number + 1) * RECORDS - 1).to_bytes(4) + (number * len(one_batch())).to_bytes(4)
        for number in range(1, batches)
    )
    (directory / LOG_NAME.replace(".log", ".index")).write_bytes(b"".join(entries))
    largest = TIMESTAMP.to_bytes(8) + (RECORDS - 1).to_bytes(4)
    (directory / LOG_NAME.replace(".log", ".timeindex")).write_bytes(largest)
    (directory / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0)]))
