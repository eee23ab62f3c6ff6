"""A segment's file that was renamed: one finding, whatever else does not fit any more."""

import shutil
import struct
import zlib
from pathlib import Path

import pytest

from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from logstore.verify import verify_partition
from logstore.verify.finding import Reporter
from logstore.verify.segment_names import NamedSegments
from tests.data.replicas import replicas
from tests.logstore.batches import simple_batch
from tests.logstore.verify.logs import kinds, write_log

BASES = (0, 3264, 6528, 11386)


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    directory = tmp_path / "orders-2"
    shutil.copytree(replicas("reconciled") / "broker-1" / "orders-2", directory)
    return directory


def found(directory: Path) -> list[tuple[str, str | None, int | None]]:
    findings = verify_partition(PartitionDirectory.open(directory), records=True)
    return [(each.kind, each.file, each.offset) for each in findings if each.kind != "epochs-ahead-of-log-start"]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", [1, 3000, 3300, 6500, 6529, 11_380, 11_400, 90_000])
@pytest.mark.parametrize("with_indexes", [True, False])
def test_the_cause_is_told_once(base: int, name: int, orders: Path, *, with_indexes: bool) -> None:
    assert found(orders) == []
    for suffix in (".log", ".index", ".timeindex") if with_indexes else (".log",):
        (orders / f"{base:020d}{suffix}").rename(orders / f"{name:020d}{suffix}")
    kind = "batch-below-segment" if base < name else "segment-name-wrong"
    assert found(orders) == [(kind, f"{name:020d}.log", base)]


def test_no_index_is_read_of_a_segment_whose_name_fits(orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Segment, "offset_index")
    partition = PartitionDirectory.open(orders)
    named = NamedSegments.of(partition, Reporter(partition.topic_partition))
    assert (named.segments, named.findings) == (partition.segments, [])


def test_a_segment_with_a_name_that_another_s_batches_have(orders: Path) -> None:
    """Neither indexes nor disorder tell, only that the segment before goes further."""
    for suffix in (".index", ".timeindex"):
        (orders / f"{6528:020d}{suffix}").unlink()
    (orders / f"{6528:020d}.log").rename(orders / f"{6500:020d}.log")
    assert ("segment-name-wrong", f"{6500:020d}.log", 6528) in found(orders)


def test_a_first_batch_with_a_wrong_offset_is_no_other_name(orders: Path) -> None:
    log = orders / f"{3264:020d}.log"
    data = bytearray(log.read_bytes())
    data[:8] = (99_000).to_bytes(8, "big")
    log.write_bytes(data)
    assert "segment-name-wrong" not in [kind for kind, _, _ in found(orders)]


def test_a_second_batch_that_cannot_be_decompressed_tells_nothing(tmp_path: Path) -> None:
    checked = struct.pack(">bbii", 0, 3, -1, 4) + bytes(4)
    message = struct.pack(">I", zlib.crc32(checked)) + checked
    old_set = struct.pack(">qi", 3, len(message)) + message
    assert kinds(write_log(tmp_path, {0: [simple_batch(0), old_set]}), records=True) == ["record-unreadable"]
