"""What verify says of offset and time indexes."""

import gzip
import struct
from pathlib import Path

import pytest

from logstore.offline import batch_scan
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Finding, verify_partition
from logstore.verify import log_pass as log_pass_module
from tests.logstore.batch.test_legacy_batch import GZIP, message
from tests.logstore.batches import batch, record


@pytest.fixture(autouse=True, params=[10_000, 0], ids=["in plain NumPy", "with kernels"])
def _kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_scan.PLAIN_BUDGET, "batches_left", request.param)


KINDS = {
    "index-entry-wrong",
    "index-entries-left",
    "index-odd-size",
    "index-zero-tail",
    "index-unreadable",
    "index-missing",
    "time-index-beyond-records",
}


def at(offset: int, timestamp: int) -> bytes:
    return batch(base_offset=offset, records=[record(value=b"v")], base_timestamp=timestamp, max_timestamp=timestamp)


LOG = b"".join(at(offset, 1_000 + 10 * offset) for offset in range(6))
SIZE = len(LOG) // 6
OFFSETS = [(1, SIZE), (3, 3 * SIZE), (5, 5 * SIZE)]
TIMES = [(1_010, 1), (1_030, 3), (1_050, 5)]


def offset_index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


def time_index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", *entry) for entry in entries)


def write(directory: Path, log: bytes, index: bytes, timeindex: bytes, *, rolled: bool = True) -> PartitionDirectory:
    partition = directory / "t-0"
    partition.mkdir(parents=True)
    (partition / f"{0:020d}.log").write_bytes(log)
    (partition / f"{0:020d}.index").write_bytes(index)
    (partition / f"{0:020d}.timeindex").write_bytes(timeindex)
    if rolled:
        (partition / f"{len(log) // SIZE:020d}.log").write_bytes(b"")
    return PartitionDirectory.open(partition)


def found(directory: Path, log: bytes, index: bytes, timeindex: bytes, *, rolled: bool = True) -> list[Finding]:
    findings = verify_partition(write(directory, log, index, timeindex, rolled=rolled))
    return [each for each in findings if each.kind in KINDS]


def places(findings: list[Finding]) -> list[tuple[str, str | None, int | None]]:
    return [(each.kind, Path(each.file or "").suffix, each.position) for each in findings]


def test_indexes_of_the_log_are_right(tmp_path: Path) -> None:
    assert found(tmp_path, LOG, offset_index(*OFFSETS), time_index(*TIMES)) == []


def test_state_is_carried_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_scan, "CHUNK", 2)
    append_of_four = (4, SIZE)
    assert found(tmp_path / "right", LOG, offset_index(append_of_four), time_index(*TIMES)) == []
    behind_a_later = found(tmp_path / "wrong", at(0, 5_000) + LOG[SIZE:], offset_index(), time_index((1_030, 3)))
    assert places(behind_a_later) == [("index-entry-wrong", ".timeindex", 0)]


@pytest.mark.parametrize("wrong", [(2, 3 * SIZE), (3, 3 * SIZE + 1), (0, 3 * SIZE), (99, 3 * SIZE), (3, 2 * SIZE + 1)])
def test_an_offset_entry_is_the_last_offset_and_the_position_of_a_batch(tmp_path: Path, wrong: tuple[int, int]) -> None:
    index = offset_index(OFFSETS[0], wrong, OFFSETS[2])
    assert places(found(tmp_path, LOG, index, time_index(*TIMES))) == [("index-entry-wrong", ".index", 8)]


def test_an_entry_may_be_an_append_s_of_several_batches_before_4_0_1(tmp_path: Path) -> None:
    append = (3, SIZE)  # of the batches with offsets 1 to 3
    assert found(tmp_path / "right", LOG, offset_index(append, (5, 4 * SIZE)), time_index(*TIMES)) == []
    into_the_next = (4, SIZE)
    wrong = found(tmp_path / "wrong", LOG, offset_index(into_the_next, (5, 4 * SIZE)), time_index(*TIMES))
    assert places(wrong) == [("index-entry-wrong", ".index", 0)]


def three_each(offset: int) -> bytes:
    records = [record(offset_delta=number, value=b"v") for number in range(3)]
    return batch(base_offset=offset, records=records)


@pytest.mark.parametrize("shift", range(-1, 4))
def test_an_entry_may_have_the_first_offset_of_its_batch_as_up_to_1_1(tmp_path: Path, shift: int) -> None:
    log = b"".join(three_each(offset) for offset in range(0, 18, 3))
    size = len(log) // 6
    entries = [(3 * number + shift, number * size) for number in range(1, 6)]
    kinds = {each.kind for each in found(tmp_path, log, offset_index(*entries), b"")}
    assert ("index-entry-wrong" in kinds) == (shift not in {0, 2})


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("shift", range(-1, 4))
def test_so_may_it_where_the_batch_wraps_a_set_of_old_messages(tmp_path: Path, magic: int, shift: int) -> None:
    def wrapped(first: int) -> bytes:
        inner = [message(first * (1 - magic) + number, b"v", magic=magic) for number in range(3)]
        return message(first + 2, gzip.compress(b"".join(inner), mtime=0), magic=magic, attributes=GZIP)

    batches = [wrapped(offset) for offset in range(0, 18, 3)]
    entries = [(3 * number + shift, sum(map(len, batches[:number]))) for number in range(1, 6)]
    kinds = {each.kind for each in found(tmp_path, b"".join(batches), offset_index(*entries), b"", rolled=False)}
    assert ("index-entry-wrong" in kinds or "index-entries-left" in kinds) == (shift not in {0, 1, 2})


def test_offset_entries_rise(tmp_path: Path) -> None:
    index = offset_index(OFFSETS[1], OFFSETS[0], OFFSETS[2])
    assert places(found(tmp_path, LOG, index, time_index(*TIMES))) == [("index-entry-wrong", ".index", 8)]


@pytest.mark.parametrize("wrong", [(1_029, 3), (1_030, 99), (900, 3)])
def test_no_record_up_to_a_time_entry_is_later(tmp_path: Path, wrong: tuple[int, int]) -> None:
    index = time_index(TIMES[0], wrong, TIMES[2])
    assert places(found(tmp_path, LOG, offset_index(*OFFSETS), index)) == [("index-entry-wrong", ".timeindex", 12)]


def test_a_time_entry_may_be_later_than_the_records_up_to_it(tmp_path: Path) -> None:
    index = time_index(TIMES[0], (1_031, 3), TIMES[2])
    assert found(tmp_path, LOG, offset_index(*OFFSETS), index) == []


@pytest.mark.parametrize("rolled", [True, False])
def test_a_time_entry_later_than_every_record_keeps_retention_from_its_segment(tmp_path: Path, *, rolled: bool) -> None:
    (late,) = found(tmp_path, LOG, offset_index(*OFFSETS), time_index(*TIMES[:2], (1_051, 5)), rolled=rolled)
    assert (late.kind, late.severity, late.position, late.offset) == ("time-index-beyond-records", "warning", 24, 5)
    assert "entry 2 with timestamp 1051 up to offset 5: no record of the segment is later than 1050" in late.message


def test_a_time_entry_is_not_called_late_where_a_record_is_not_known(tmp_path: Path) -> None:
    late = time_index(*TIMES[:2], (9_999, 5))
    flipped, overwritten = bytearray(LOG), bytearray(LOG)
    flipped[2 * SIZE + 65] ^= 1
    overwritten[2 * SIZE : 2 * SIZE + 20] = bytes(20)
    for number, log in enumerate((flipped, overwritten)):
        findings = found(tmp_path / str(number), bytes(log), offset_index(*OFFSETS), late)
        assert "time-index-beyond-records" not in {each.kind for each in findings}


def test_records_without_timestamps_make_no_empty_entry_late(tmp_path: Path) -> None:
    log = batch(base_offset=0, records=[record(value=b"v")], base_timestamp=-1, max_timestamp=-1)
    assert found(tmp_path, log, b"", time_index((0, 0)), rolled=False) == []


def test_a_timestamp_below_an_earlier_one_is_no_time_entry(tmp_path: Path) -> None:
    log = at(0, 2_000) + at(1, 1_500)
    assert places(found(tmp_path, log, b"", time_index((1_500, 1)))) == [("index-entry-wrong", ".timeindex", 0)]


def test_the_timestamp_of_a_corrupt_batch_makes_no_entry_wrong(tmp_path: Path) -> None:
    log = bytearray(LOG)
    log[2 * SIZE + 35] ^= 0x40  # the maximal timestamp of the third batch: far in the future
    assert found(tmp_path, bytes(log), offset_index(*OFFSETS), time_index(*TIMES)) == []


def test_odd_bytes_and_zeros_of_a_rolled_segment_are_reported(tmp_path: Path) -> None:
    odd = found(tmp_path / "odd", LOG, offset_index(*OFFSETS) + b"abc", time_index(*TIMES))
    assert places(odd) == [("index-odd-size", ".index", 24)]
    zeros = found(tmp_path / "zeros", LOG, offset_index(*OFFSETS), time_index(*TIMES) + bytes(24))
    assert places(zeros) == [("index-zero-tail", ".timeindex", 36)]
    active = found(tmp_path / "active", LOG, offset_index(*OFFSETS), time_index(*TIMES) + bytes(24), rolled=False)
    assert active == []


def test_an_index_that_cannot_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logstore.files.index_slots.MAX_INDEX_BYTES", 30)
    findings = found(tmp_path, LOG, offset_index(*OFFSETS), time_index(*TIMES))
    assert places(findings) == [("index-unreadable", ".timeindex", None)]


def test_entries_for_batches_that_a_broker_appends_meanwhile_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = offset_index(*OFFSETS, (6, 6 * SIZE)), time_index(*TIMES, (1_060, 6))
    partition = write(tmp_path, LOG, *more, rolled=False)
    log = partition.path / f"{0:020d}.log"
    monkeypatch.setattr(log_pass_module.TailRereader, "has_changed", lambda _self: False)
    scan = log_pass_module.LogPass._read

    def then_the_broker_appends(*arguments: object) -> object:
        position = yield from scan(*arguments)  # type: ignore[arg-type]
        log.write_bytes(LOG + at(6, 1_060))
        return position

    monkeypatch.setattr(log_pass_module.LogPass, "_read", then_the_broker_appends)
    assert [each.kind for each in verify_partition(partition) if each.kind in KINDS] == []


def test_entries_beyond_the_end_of_a_log_that_does_not_grow_are_wrong(tmp_path: Path) -> None:
    more = offset_index(*OFFSETS, (6, 6 * SIZE)), time_index(*TIMES, (1_060, 6))
    findings = found(tmp_path, LOG, *more, rolled=False)
    assert places(findings) == [("index-entry-wrong", ".index", 24), ("index-entry-wrong", ".timeindex", 36)]


def test_what_a_running_broker_s_truncation_leaves_in_a_preallocated_index_is_not_damage(tmp_path: Path) -> None:
    left = offset_index(*OFFSETS, (7, 7 * SIZE), (9, 9 * SIZE)), time_index(*TIMES, (1_060, 7), (1_070, 9))
    findings = found(tmp_path, LOG, *(each + bytes(24) for each in left), rolled=False)
    assert [each.severity.needs_attention for each in findings] == [False, False]
    assert places(findings) == [("index-entries-left", ".index", 24), ("index-entries-left", ".timeindex", 36)]


def test_an_index_is_preallocated_only_where_a_broker_appends(tmp_path: Path) -> None:
    wrong = offset_index(*OFFSETS, (7, 7 * SIZE)) + bytes(24)
    findings = found(tmp_path / "rolled", LOG, wrong, time_index(*TIMES))
    assert places(findings) == [("index-zero-tail", ".index", 32), ("index-entry-wrong", ".index", 24)]


def test_an_entry_before_right_ones_is_wrong_in_a_preallocated_index_too(tmp_path: Path) -> None:
    wrong = offset_index(OFFSETS[0], (2, 3 * SIZE), OFFSETS[2]) + bytes(24)
    findings = found(tmp_path, LOG, wrong, time_index(*TIMES) + bytes(24), rolled=False)
    assert places(findings) == [("index-entry-wrong", ".index", 8)]


def test_an_index_made_since_the_directory_was_listed_is_not_missing(tmp_path: Path) -> None:
    partition = write(tmp_path, LOG, offset_index(*OFFSETS), time_index(*TIMES), rolled=False)
    index = partition.path / f"{0:020d}.index"
    content = index.read_bytes()
    index.unlink()
    listed = PartitionDirectory.open(partition.path)
    assert [each.kind for each in verify_partition(listed) if each.kind in KINDS] == ["index-missing"]
    index.write_bytes(content)
    assert [each.kind for each in verify_partition(listed) if each.kind in KINDS] == []


def test_entries_are_told_in_words(tmp_path: Path) -> None:
    partition = tmp_path / "t-0"
    partition.mkdir()
    (partition / f"{0:020d}.log").write_bytes(at(0, 1_000))
    (partition / f"{0:020d}.index").write_bytes(struct.pack(">ii", 7, 4_000))
    (partition / f"{0:020d}.timeindex").write_bytes(struct.pack(">qi", 5, 9))
    messages = [each.message for each in verify_partition(PartitionDirectory.open(partition))]
    assert any("entry 0 with last offset 7 at position 4,000: " in message for message in messages)
    assert any("entry 0 with timestamp 5 up to offset 9: " in message for message in messages)
