"""Reads go on where the last one ended, each record once; where the log was truncated below that, they are refused."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.control import ControlType
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from replication.audit import LogTruncatedError, NotAllowedError, NothingChosenError, ending_offsets
from tests.logstore.batches import TRANSACTIONAL, batch, record
from tests.replication.copies.audit.loopback_store import LoopbackStore
from tests.replication.copies.audit.snapshot_roots import batches, write_root
from tests.replication.copies.audit.spark.source.planned import Planned
from tests.replication.copies.audit.spark.source.test_batch_reader import marker
from tests.replication.partitions import ABatch

COUNT = 3
"""Records of each batch."""
Written = list[int]
"""The leader epoch of each batch, from the log's first on."""


def write(root: Path, log: Written, *, first: int = 0, segment_batches: int = 4) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    made = [ABatch(COUNT * at, COUNT, epoch, f"{epoch}") for at, epoch in enumerate(log) if at >= first]
    return write_root(root, {"t-0": made}, segment_batches=segment_batches)


def read(root: Path | str, **bounds: str) -> list[tuple[int, int]]:
    rows = Planned(root, columns="offset,leader_epoch", **bounds).rows()
    return [(row["offset"], row["leader_epoch"]) for row in rows]


class Change(NamedTuple):
    """What befalls a log between two reads: it is cut, then a leader of another epoch writes to it."""

    kept: int
    written: int
    epochs: int


logs = st.lists(st.integers(0, 2), min_size=1, max_size=9).map(
    lambda steps: [sum(steps[: at + 1]) for at in range(len(steps))]
)
changes = st.lists(st.builds(Change, st.integers(0, 12), st.integers(0, 4), st.integers(1, 3)), max_size=2)


@given(before=logs, changes=changes, segment_batches=st.integers(1, 5))
def test_a_read_goes_on_where_all_is_kept_and_names_what_was_cut_where_not(
    before: Written, changes: list[Change], segment_batches: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.getbasetemp() / "changing"
    write(root, before, segment_batches=segment_batches)
    end = ending_offsets(root)
    first = read(root, endingOffsets=end)
    after = before
    for number, change in enumerate(changes, 1):
        after = after[: change.kept] + [before[-1] + 3 * number + change.epochs] * change.written
    write(root, after or [99], first=0 if after else 1, segment_batches=segment_batches)
    now = [(COUNT * at + more, epoch) for at, epoch in enumerate(after) for more in range(COUNT)]

    if now[: len(first)] == first:
        assert first + read(root, startingOffsets=end) == now
        return

    with pytest.raises(LogTruncatedError) as refused:
        read(root, startingOffsets=end)
    same = sum(1 for one, other in zip(first, now, strict=False) if one == other)
    told = str(refused.value)
    if before[-1] not in after:
        least = int(told.partition("records ")[2].partition("..")[0])
        assert same <= least < len(first)
        assert f"..{len(first) - 1} are cut off now, perhaps more: the log has nothing of leader epoch" in told
    else:
        assert f"read up to offset {len(first)}, and its records {same}..{len(first) - 1} are cut off now;" in told
        advised = json.loads(str(refused.value).rpartition("startingOffsets of ")[2])
        assert first[:same] + read(root, startingOffsets=json.dumps(advised)) == now


def test_the_end_names_an_offset_and_an_epoch_by_partition(tmp_path: Path) -> None:
    write_root(tmp_path, {"t-0": batches(2), "t-1": batches(5, epoch=3), "u-0": []})

    assert json.loads(ending_offsets(tmp_path)) == {
        "t": {"0": {"offset": 6, "leader_epoch": 0}, "1": {"offset": 15, "leader_epoch": 3}},
        "u": {"0": {"offset": 0, "leader_epoch": -1}},
    }
    assert json.loads(ending_offsets([tmp_path], {"Topics": "u"})) == {"u": {"0": {"offset": 0, "leader_epoch": -1}}}


def test_what_comes_between_is_read_by_the_next(tmp_path: Path) -> None:
    write(tmp_path, [0, 0])
    end = ending_offsets(tmp_path)
    shutil.rmtree(tmp_path)
    write_root(tmp_path, {"t-0": batches(4), "t-1": batches(1)})

    tonight, tomorrow = read(tmp_path, endingOffsets=end), read(tmp_path, startingOffsets=end)

    assert [offset for offset, _ in tonight] == list(range(6))
    assert sorted(offset for offset, _ in tomorrow) == [0, 1, 2, *range(6, 12)]


def test_an_open_transaction_is_read_once_it_has_ended(tmp_path: Path) -> None:
    def sent(offset: int, producer: int) -> bytes:
        return batch(base_offset=offset, records=[record()], attributes=TRANSACTIONAL, producer_id=producer)

    content = [batch(base_offset=0, records=[record()]), sent(1, 7), sent(2, 8), marker(3, ControlType.COMMIT, 8)]
    directory = tmp_path / "t-0"
    directory.mkdir()
    file = directory / f"{0:020d}.log"
    file.write_bytes(b"".join(content))
    committed = {"isolation": "read_committed"}
    end = ending_offsets(directory, committed)
    first = read(directory, endingOffsets=end, **committed)
    file.write_bytes(b"".join([*content, marker(4, ControlType.COMMIT, 7)]))

    second = read(directory, startingOffsets=end, **committed)

    assert json.loads(end)["t"]["0"]["offset"] == 1
    assert json.loads(ending_offsets(directory))["t"]["0"]["offset"] == 5
    assert [offset for offset, _ in first + second] == [0, 1, 2]


def test_records_that_retention_took_before_they_were_read_are_missed(tmp_path: Path) -> None:
    write(tmp_path, [0, 0])
    end = ending_offsets(tmp_path)
    write(tmp_path, [0, 0, 0, 0], first=2)
    assert [offset for offset, _ in read(tmp_path, startingOffsets=end)] == list(range(6, 12))
    write(tmp_path, [0, 0, 0, 0], first=3)

    with pytest.raises(
        LogTruncatedError, match=r"read up to offset 6, and the log begins at 9 now: offsets 6\.\.8 are"
    ):
        read(tmp_path, startingOffsets=end)


def test_records_that_the_cleaner_took_were_there(tmp_path: Path) -> None:
    write(tmp_path, [0, 1, 1])
    end = ending_offsets(tmp_path)
    kept = [ABatch(0, COUNT, 0), ABatch(9, COUNT, 1), ABatch(12, COUNT, 2)]
    shutil.rmtree(tmp_path)
    write_root(tmp_path, {"t-0": kept}, segment_batches=1)
    assert [offset for offset, _ in read(tmp_path, startingOffsets=end)] == list(range(9, 15))
    shutil.rmtree(tmp_path)
    write_root(tmp_path, {"t-0": [kept[0], ABatch(12, COUNT, 0)]}, segment_batches=1)

    with pytest.raises(LogTruncatedError):
        read(tmp_path, startingOffsets=end)


def test_a_new_segment_without_records_is_no_change(tmp_path: Path) -> None:
    write(tmp_path, [0, 0])
    (tmp_path / "t-0" / f"{6:020d}.log").touch()
    end = ending_offsets(tmp_path)

    assert json.loads(end)["t"]["0"] == {"offset": 6, "leader_epoch": 0}
    assert read(tmp_path, startingOffsets=end) == []


def test_what_a_store_holds_ends_and_goes_on_the_same(tmp_path: Path) -> None:
    write(tmp_path / "b", [0, 0, 1, 1, 1, 1])
    local = ending_offsets(tmp_path / "b")
    with LoopbackStore(tmp_path).running() as store:
        address = store.address("b")
        assert ending_offsets(address) == ending_offsets(address, {"isolation": "read_committed"}) == local
        assert len(read(address, endingOffsets=local)) == 18
        ended = json.dumps({"t": {"0": {"offset": 18, "leader_epoch": 0}}})
        with pytest.raises(LogTruncatedError, match="s3://backups/b/t-0") as refused:
            read(address, startingOffsets=ended)
    assert "secret" not in str(refused.value)


def spoiled(log: Path) -> Path:
    """Damage the last batch of a segment."""
    content = log.read_bytes()
    log.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    return log


@pytest.mark.parametrize(
    ("epochs", "end"),
    [
        ({0: 0, 12: 0}, (9, 1)),
        ({0: 0, 12: 1}, (9, 1)),
        ({0: 0, 3: 1, 6: 2, 9: 2, 12: 2}, (12, 1)),
        ({0: 0, 3: 2, 6: 2, 9: 2}, (12, 1)),
        ({0: 0, 3: 0, 6: 0, 9: 0}, (12, 0)),
        ({0: 0, 3: 0, 6: 0, 9: 0}, (9, 0)),
    ],
)
@pytest.mark.parametrize("is_damaged", [False, True])
def test_of_a_store_files_further_away_are_looked_at_too(
    epochs: dict[int, int], end: tuple[int, int], tmp_path: Path, *, is_damaged: bool
) -> None:
    root = write_root(tmp_path / "b", {"t-0": [ABatch(*each) for each in placed(epochs)]}, segment_batches=1)
    if is_damaged:
        spoiled(max((root / "t-0").glob("*.log")))
    told = {}
    with LoopbackStore(tmp_path).running() as store:
        for place in (str(root), store.address("b")):
            bound = json.dumps({"t": {"0": {"offset": end[0], "leader_epoch": end[1]}}})
            try:
                told[place] = str(read(place, startingOffsets=bound)), ending_offsets(place)
            except LogTruncatedError as error:
                told[place] = str(error).partition(": ")[2], ending_offsets(place)
    of_disk, of_store = told.values()
    assert of_disk == of_store


def placed(epochs: dict[int, int]) -> list[tuple[int, int, int]]:
    return [(offset, COUNT, epoch) for offset, epoch in epochs.items()]


def test_a_topic_that_was_created_again_is_another_one(tmp_path: Path) -> None:
    root = write(tmp_path / "b", [0, 0])
    metadata = root / "t-0" / PARTITION_METADATA_NAME
    PartitionMetadata(UUID(int=7 << 64)).write(metadata)
    end = ending_offsets(root)
    write(root, [0, 0, 0])
    assert len(read(root, startingOffsets=end)) == COUNT
    PartitionMetadata(UUID(int=7 << 64)).write(metadata)
    assert len(read(root, startingOffsets=end)) == COUNT
    PartitionMetadata(UUID(int=8 << 64)).write(metadata)

    with LoopbackStore(tmp_path).running() as store:
        for place in (str(root), store.address("b")):
            with pytest.raises(LogTruncatedError, match="was deleted since and created again") as refused:
                read(place, startingOffsets=end)
            advised = str(refused.value).rpartition("startingOffsets of ")[2]
            assert len(read(place, startingOffsets=advised)) == 3 * COUNT
        assert ending_offsets(store.address("b"), {"isolation": "read_committed"}) == ending_offsets(root) != end
    metadata.write_text("nonsense")
    assert len(read(root, startingOffsets=end)) == COUNT


def test_a_partition_has_one_end(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, [0])

    with pytest.raises(NotAllowedError, match=r"the copies of t-0 cannot be .*replicas"):
        ending_offsets(tmp_path)
    assert json.loads(ending_offsets(tmp_path, {"replicas": "a", "startingOffsets": "7"}))["t"]["0"]["offset"] == COUNT
    with pytest.raises(NothingChosenError):
        ending_offsets(tmp_path, {"topics": "nonsense"})


@pytest.mark.parametrize(
    "end",
    [
        {"offset": -1, "leader_epoch": 0},
        {"offset": 1, "leader_epoch": -2},
        {"offset": 1, "leader_epoch": True},
        {"offset": "1", "leader_epoch": 0},
        {"offset": 1},
        {"offset": 1, "leader_epoch": 0, "more": 0},
        {"offset": 1, "leader_epoch": 0, "topic_id": 0},
        {"offset": 1, "leader_epoch": 1 << 31},
    ],
)
def test_what_is_no_end_of_a_read_is_refused(end: dict[str, object], tmp_path: Path) -> None:
    write(tmp_path, [0])
    for option in ("startingOffsets", "endingOffsets"):
        with pytest.raises(NotAllowedError, match="or what ending_offsets gives"):
            read(tmp_path, **{option: json.dumps({"t": {"0": end}})})
    with pytest.raises(NotAllowedError, match="milliseconds since 1970"):
        read(tmp_path, startingOffsetsByTimestamp=json.dumps({"t": {"0": {"offset": 1, "leader_epoch": 0}}}))
