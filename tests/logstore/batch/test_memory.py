"""A batch of 200 MB is read in little memory beyond what is asked for, by each way of reading."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from logstore.batch.compression.codec import Codec, compress
from tests.logstore.batches import batch, record
from tests.logstore.verify.test_what_kafka_reads import message

MIB = 1 << 20
BOUND = 64 * MIB
COUNT, SIZE = 40_000, 5_000
READER = """
import json, resource, sys
from pathlib import Path
import numpy as np
from logstore.batch.batches import read_batch
from logstore.compaction.record_section import stored_records
from logstore.kernels.column_scan import scan
from logstore.offline.columns.decoded_records import Unreadable, decoded_records
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import verify_partition

def records(path):
    return sum(1 for _ in read_batch(memoryview(path.read_bytes())).records())

def columns(path):
    log = LogFile.open(path)
    found = next(log.scan())
    parts = list(map(len, decoded_records(log.data, found, np.arange(len(found)))))
    return sum(parts)

def cleaned(path):
    return sum(1 for _ in stored_records(read_batch(memoryview(path.read_bytes()))))

def verified(path):
    findings = list(verify_partition(PartitionDirectory.open(path.parent), records=True))
    assert not any("record" in each.kind or "header" in each.kind for each in findings), findings
    return next(LogFile.open(path).batches()).record_count

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

read = globals()[sys.argv[1]]
read(Path(sys.argv[2]))
before = peak()
count = read(Path(sys.argv[3]))
print(json.dumps([count, peak() - before]))
"""


def partition(root: Path, name: str, content: bytes) -> Path:
    directory = root / name
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(content)
    return directory / f"{0:020d}.log"


def of_codec(codec: Codec, count: int) -> bytes:
    value = b'{"event": "page_view"}'.ljust(SIZE, b" ")
    section = b"".join(record(offset_delta=number, key=b"%d" % number, value=value) for number in range(count))
    return batch(
        section=compress(codec, section), attributes=codec, record_count=count, last_offset_delta=count - 1,
    )  # fmt: skip


def of_magic_1(count: int) -> bytes:
    value = b'{"event": "page_view"}'.ljust(SIZE, b" ")
    inner = b"".join(message(number, value, 1) for number in range(count))
    return message(count - 1, compress(Codec.GZIP, inner), 1, Codec.GZIP)


def grown(read: str, tmp_path: Path, small: bytes, large: bytes) -> int:
    """How much more memory the process took at its peak than for a small batch."""
    paths = partition(tmp_path, "small-0", small), partition(tmp_path, "large-0", large)
    done = subprocess.run([sys.executable, "-c", READER, read, *paths], capture_output=True, text=True, check=True)
    count, memory = json.loads(done.stdout)
    assert count == COUNT
    return int(memory)


@pytest.mark.parametrize(
    ("codec", "read"),
    [
        (Codec.GZIP, "records"),
        (Codec.SNAPPY, "verified"),
        (Codec.LZ4, "cleaned"),
        (Codec.ZSTD, "records"),
        (Codec.ZSTD, "columns"),
    ],
)
def test_a_batch_of_200_mb(tmp_path: Path, codec: Codec, read: str) -> None:
    assert grown(read, tmp_path, of_codec(codec, 20), of_codec(codec, COUNT)) < BOUND


@pytest.mark.parametrize("read", ["records", "verified"])
def test_a_wrapped_set_of_200_mb(tmp_path: Path, read: str) -> None:
    assert grown(read, tmp_path, of_magic_1(20), of_magic_1(COUNT)) < BOUND
