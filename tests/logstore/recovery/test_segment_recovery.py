"""One segment: what is valid of it, what is cut off, and which entries its indexes get."""

import struct
from pathlib import Path

import pytest

from epoch.filesystem import REAL, FileSystem
from logstore.batch.batch import RecordBatch
from logstore.errors import SegmentTooLargeError
from logstore.indexes.offset_index import OffsetIndex
from logstore.indexes.time_index import TimeIndex
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.recovery import segment_recovery, segment_walk
from logstore.recovery.segment_recovery import check_part, recover_segment
from logstore.recovery.segment_walk import OnBytes, SegmentRecovery
from tests.disk import NamingDisk
from tests.logstore.batches import simple_batch
from tests.logstore.golden import LEGACY

INTERVAL = 200
CONFIG = LogConfig(index_interval_bytes=INTERVAL, segment_index_bytes=4_096)
BASE = 30
BATCHES = [simple_batch(BASE + 2 * number, [b"v" * 20] * 2, leader_epoch=number // 5) for number in range(10)]
WHOLE = b"".join(BATCHES)
LEGACY_OFFSET, LEGACY_CRC = 0, 12


def recover(
    directory: Path,
    data: bytes,
    base_offset: int = BASE,
    *,
    config: LogConfig = CONFIG,
    filesystem: FileSystem = REAL,
    progress: OnBytes = lambda _: None,
) -> SegmentRecovery:
    (directory / f"{base_offset:020d}.log").write_bytes(data)
    nobody: list[RecordBatch] = []
    found = recover_segment(
        directory,
        base_offset,
        config,
        on_producer_batch=lambda batch: nobody.append(batch) or [],
        progress=progress,
        filesystem=filesystem,
    )
    assert nobody == []
    return found


def entries_as_written(path: Path) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """What both indexes hold: an entry for each batch that begins more than the interval after the one before."""
    positions, times = list[tuple[int, int]](), list[tuple[int, int]]()
    indexed, largest = 0, (-1, -1)
    with LogFile.open(path) as log:
        for batch in log.batches():
            if batch.max_timestamp > largest[0]:
                largest = batch.max_timestamp, batch.last_offset
            if batch.position - indexed > INTERVAL:
                positions.append((batch.last_offset, batch.position))
                times += [largest] if largest[0] > (times[-1][0] if times else -1) else []
                indexed = batch.position
    return positions, times + ([largest] if largest[0] > (times[-1][0] if times else -1) else [])


def entries(directory: Path, base_offset: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    positions = OffsetIndex.read(directory / f"{base_offset:020d}.index", base_offset).entries
    times = TimeIndex.read(directory / f"{base_offset:020d}.timeindex", base_offset).entries
    return [tuple(entry) for entry in positions], [tuple(entry) for entry in times]


def test_a_sound_segment_is_kept_whole(tmp_path: Path) -> None:
    assert recover(tmp_path, WHOLE) == SegmentRecovery(
        base_offset=BASE,
        size=len(WHOLE),
        valid_bytes=len(WHOLE),
        next_offset=BASE + 20,
        batches=10,
        epochs=((0, BASE), (0, BASE + 8), (1, BASE + 10), (1, BASE + 19)),
        reason="",
    )
    assert entries(tmp_path, BASE)[0] == entries_as_written(tmp_path / f"{BASE:020d}.log")[0]


def test_an_empty_segment_ends_where_it_begins(tmp_path: Path) -> None:
    found = recover(tmp_path, b"")
    assert (found.next_offset, found.batches, found.epochs, found.dropped_bytes) == (BASE, 0, (), 0)
    assert entries(tmp_path, BASE) == ([], [])


def test_what_is_torn_off_at_the_end_goes(tmp_path: Path) -> None:
    found = recover(tmp_path, WHOLE[:-1])
    assert (found.next_offset, found.batches, found.reason) == (BASE + 18, 9, "the file ends inside a batch")
    assert found.dropped_bytes == len(BATCHES[-1]) - 1
    assert (tmp_path / f"{BASE:020d}.log").read_bytes() == b"".join(BATCHES[:-1])


def test_an_estimate_checks_one_part(tmp_path: Path) -> None:
    size = len(BATCHES[0])
    path = tmp_path / "log"
    path.write_bytes(WHOLE[:-1])
    with LogFile.open(path) as log:
        assert check_part(log, BASE, 0, 3 * size) == 3 * size
        assert check_part(log, BASE, 2 * size, 5 * size) == 3 * size
        assert check_part(log, BASE, 0, 10 * size) == 9 * size


@pytest.mark.parametrize("name", ["magic0-none", "magic1-none", "magic1-gzip", "converted", "upgraded", "compacted"])
def test_messages_of_magic_0_and_1_are_kept_and_indexed(tmp_path: Path, name: str) -> None:
    data = (LEGACY / f"{name}.log").read_bytes()
    found = recover(tmp_path, data, 0)
    with LogFile.open(LEGACY / f"{name}.log") as log:
        batches = list(log.batches())
        assert (found.next_offset, found.batches) == (batches[-1].last_offset + 1, len(batches))
    assert (found.valid_bytes, found.reason) == (len(data), "")
    assert entries(tmp_path, 0) == entries_as_written(LEGACY / f"{name}.log")


@pytest.mark.parametrize(
    ("at", "damage", "reason"),
    [
        (LEGACY_CRC, b"\0\0\0\0", "a batch's checksum does not match"),
        (LEGACY_OFFSET, struct.pack(">q", -1), "a batch's header is invalid"),
        (8, struct.pack(">i", 13), "the length field of a batch is invalid"),
        (8, struct.pack(">i", 9_000), "the file ends inside a batch"),
    ],
    ids=["checksum", "offset", "length", "torn"],
)
def test_a_damaged_message_and_what_follows_it_go(tmp_path: Path, at: int, damage: bytes, reason: str) -> None:
    sound = (LEGACY / "magic1-none.log").read_bytes()
    third = 41 + 40
    data = bytearray(sound)
    data[third + at : third + at + len(damage)] = damage
    found = recover(tmp_path, bytes(data), 0)
    assert (found.valid_bytes, found.next_offset, found.batches, found.reason) == (third, 2, 2, reason)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == sound[:third]


def test_a_message_before_the_segments_base_offset_does_not_fit(tmp_path: Path) -> None:
    found = recover(tmp_path, (LEGACY / "magic1-none.log").read_bytes(), 1)
    assert (found.valid_bytes, found.next_offset, found.batches) == (0, 1, 0)
    assert found.reason == "a batch's offsets do not fit the segment"


def test_a_message_too_far_from_the_base_offset_begins_another_segment(tmp_path: Path) -> None:
    data = bytearray((LEGACY / "magic1-none.log").read_bytes())
    farthest = 2**31 - 1
    data[81:89] = struct.pack(">q", farthest)
    assert recover(tmp_path, bytes(data[:119]), 0).next_offset == farthest + 1
    data[81:89] = struct.pack(">q", farthest + 1)
    found = recover(tmp_path, bytes(data[:119]), 0)
    assert [part.base_offset for part in found.parts] == [0, farthest + 1]
    assert (tmp_path / f"{0:020d}.log").read_bytes() == data[:119]


def test_indexes_are_replaced_without_a_left_over(tmp_path: Path) -> None:
    (tmp_path / f"{BASE:020d}.txnindex").write_bytes(b"stale")
    recover(tmp_path, WHOLE)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".index", ".log", ".timeindex", ".txnindex"]
    assert (tmp_path / f"{BASE:020d}.txnindex").read_bytes() == b""


def test_new_indexes_are_down_on_the_disk_before_it_is_done(tmp_path: Path) -> None:
    disk = NamingDisk()
    recover(tmp_path, WHOLE, filesystem=disk)
    assert disk.steps[-1] == f"sync {tmp_path.name}"
    assert f"rename {BASE:020d}.index.cleaned {BASE:020d}.index" in disk.steps


def test_it_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_walk, "STEP_BYTES", len(WHOLE) // 3)
    told = list[int]()
    recover(tmp_path, WHOLE, progress=told.append)
    assert told == [len(WHOLE) // 3] * 3 + [len(WHOLE) % 3] * bool(len(WHOLE) % 3)


def test_a_segment_may_be_as_large_as_indexes_can_point_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_recovery, "MAX_SEGMENT_BYTES", len(WHOLE))
    assert recover(tmp_path, WHOLE).valid_bytes == len(WHOLE)
    monkeypatch.setattr(segment_recovery, "MAX_SEGMENT_BYTES", len(WHOLE) - 1)
    with pytest.raises(SegmentTooLargeError, match=f"{len(WHOLE):,} bytes are more than the {len(WHOLE) - 1:,}"):
        recover(tmp_path, WHOLE)


def test_of_messages_with_one_timestamp_the_first_is_indexed(tmp_path: Path) -> None:
    """As if each were longer than the interval, which one that ends at it is not."""
    data = bytearray((LEGACY / "magic1-none.log").read_bytes())
    first = 12 + struct.unpack(">i", data[8:12])[0]
    message = bytes(data[8:first])
    same = b"".join(struct.pack(">q", offset) + message for offset in range(6))
    for interval, indexed in ((first - 1, [1, 2, 3, 4, 5]), (first, [2, 4])):
        recover(tmp_path, same, 0, config=LogConfig(index_interval_bytes=interval))
        positions, times = entries(tmp_path, 0)
        assert [offset for offset, _ in positions] == indexed
        assert [offset for _, offset in times] == [0]
