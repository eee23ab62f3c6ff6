"""Rows are those of the log as it was when the query was planned, or there is an error: never those of two states."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logstore.batch.control import ControlType, EndTransactionMarker
from logstore.offline.log_file import LogFile
from replication.base.errors import SnapshotChangedError
from replication.copies.audit.log_rows.transaction_outcomes import TransactionOutcomes
from replication.copies.audit.snapshots.work import ByteRange
from tests.logstore.batches import CONTROL, TRANSACTIONAL, batch, record
from tests.replication.copies.audit.spark.source.planned import Planned

ROWS = ["records", "batches", "segments", "epochs"]


def data(base_offset: int, *, count: int = 3, value: bytes = b"first", transactional: bool = False) -> bytes:
    return batch(
        base_offset=base_offset,
        records=[record(offset_delta=number, value=value * 100) for number in range(count)],
        attributes=TRANSACTIONAL if transactional else 0,
        producer_id=7 if transactional else -1,
        producer_epoch=0 if transactional else -1,
    )


def marker(offset: int, kind: ControlType = ControlType.ABORT) -> bytes:
    end = EndTransactionMarker(kind, 0, 0).record(1_000)
    return batch(
        base_offset=offset,
        records=[record(key=end.key, value=end.value)],
        attributes=TRANSACTIONAL | CONTROL,
        producer_id=7,
        producer_epoch=0,
    )


def write(directory: Path, *segments: bytes) -> list[Path]:
    """Write segments, each after its first batch's offset."""
    directory.mkdir(parents=True, exist_ok=True)
    files = [directory / f"{int.from_bytes(segment[:8]):020d}.log" for segment in segments]
    for file, segment in zip(files, segments, strict=True):
        file.write_bytes(segment)
    return files


def append(file: Path, content: bytes) -> None:
    with file.open("ab") as log:
        log.write(content)


def replace(file: Path, content: bytes) -> None:
    """Put another file in its place, as the cleaner does."""
    other = file.with_suffix(".swap")
    other.write_bytes(content)
    other.rename(file)


CHANGES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "rewritten": lambda file: file.write_bytes(file.read_bytes()[:-1] + b"!"),
    "replaced by the same": lambda file: replace(file, file.read_bytes()),
    "replaced by more": lambda file: replace(file, file.read_bytes() * 2),
    "truncated and written on": lambda file: file.write_bytes(file.read_bytes()[:-400] + data(9, value=b"other") * 3),
    "deleted": lambda file: file.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("which", ["closed", "active"])
@pytest.mark.parametrize("rows", ROWS)
def test_a_log_that_changes_after_it_was_listed_ends_the_read(
    rows: str, which: str, change: str, tmp_path: Path
) -> None:
    closed, active = write(tmp_path / "t-0", data(0), data(3) + data(6))
    file = closed if which == "closed" else active
    planned = Planned(tmp_path / "t-0", rows=rows)

    CHANGES[change](file)

    with pytest.raises(SnapshotChangedError, match=f"{file}: .* since it was listed; load it again"):
        planned.rows()


@pytest.mark.parametrize("change", ["replaced by the same", "replaced by more", "deleted"])
def test_a_log_that_changes_while_it_is_read_ends_the_read(change: str, tmp_path: Path) -> None:
    _, active = write(tmp_path / "t-0", data(0), data(3) + marker(6) + data(7))
    planned = Planned(tmp_path / "t-0").batches()
    read = [next(planned).to_pylist()[0]["offset"] for _ in range(2)]

    CHANGES[change](active)

    assert read == [0, 3]
    with pytest.raises(SnapshotChangedError, match=f"{active}: "):
        list(planned)


def test_only_the_last_segment_may_have_grown(tmp_path: Path) -> None:
    closed, _ = write(tmp_path / "t-0", data(0), data(3))
    planned = Planned(tmp_path / "t-0")

    append(closed, data(3))

    with pytest.raises(SnapshotChangedError, match=f"{closed}: it was written to, or replaced since"):
        planned.rows()


@pytest.mark.parametrize("rows", ["records", "batches"])
def test_what_is_appended_after_the_listing_is_not_read(rows: str, tmp_path: Path) -> None:
    _, active = write(tmp_path / "t-0", data(0), data(3))
    planned = Planned(tmp_path / "t-0", rows=rows)
    before = Planned(tmp_path / "t-0", rows=rows).rows()

    append(active, data(6))
    write(tmp_path / "t-0", data(9))

    assert planned.rows() == before
    assert len(before) == (6 if rows == "records" else 2)


def test_an_old_segment_that_is_not_read_may_go(tmp_path: Path) -> None:
    old, *_ = write(tmp_path / "t-0", data(0), data(3), data(6))
    planned = Planned(tmp_path / "t-0", startingOffsets="4")

    old.unlink()

    assert [row["offset"] for row in planned.rows()] == [4, 5, 6, 7, 8]


def test_transactions_end_as_they_did_when_the_query_was_planned(tmp_path: Path) -> None:
    _, active = write(tmp_path / "t-0", data(0, transactional=True), data(3))
    planned, committed = Planned(tmp_path / "t-0"), Planned(tmp_path / "t-0", isolation="read_committed")

    append(active, marker(6, ControlType.COMMIT))
    write(tmp_path / "t-0", data(7))

    assert [row["is_aborted"] for row in planned.rows()] == [None] * 3 + [False] * 3
    assert committed.rows() == [], "the first transaction was open"
    later = Planned(tmp_path / "t-0", isolation="read_committed").rows()
    assert [row["offset"] for row in later] == [0, 1, 2, 3, 4, 5, 7, 8, 9]


def test_a_segment_that_decides_on_others_may_not_change(tmp_path: Path) -> None:
    *_, later = write(tmp_path / "t-0", data(0, transactional=True), data(3), marker(6))
    planned = Planned(tmp_path / "t-0", endingOffsets="3")

    later.write_bytes(later.read_bytes()[:-1])

    with pytest.raises(SnapshotChangedError, match=f"{later}: it had"):
        planned.rows()
    assert [row["offset"] for row in Planned(tmp_path / "t-0", endingOffsets="3", columns="offset").rows()] == [0, 1, 2]


def test_no_more_is_read_than_it_takes_to_know_how_transactions_ended(tmp_path: Path) -> None:
    segments = [data(0, transactional=True), marker(3), data(4, transactional=True), marker(7), data(8)]
    files = write(tmp_path / "t-0", *segments)
    opened: list[int] = []

    def logs(first: int) -> Iterator[tuple[int, LogFile]]:
        for file in files[first:]:
            opened.append(int(file.stem))
            with LogFile.open(file) as log:
                yield int(file.stem), log

    asked = [ByteRange(4, 0, len(segments[2]))]
    known = TransactionOutcomes.read(logs(2), asked, to_the_end=False)

    assert opened == [4, 7, 8]
    assert known.markers.offset.tolist() == [7]
    assert TransactionOutcomes.read(logs(0), asked).markers.offset.tolist() == [7], "the first decides on nothing here"


def test_swapped_files_of_two_partitions_are_noticed(tmp_path: Path) -> None:
    [one], [other] = write(tmp_path / "t-0", data(0)), write(tmp_path / "t-1", data(0, value=b"other"))
    planned = Planned(tmp_path)
    shutil.move(one, tmp_path / "kept")
    shutil.move(other, one)
    shutil.move(tmp_path / "kept", other)

    with pytest.raises(SnapshotChangedError):
        planned.rows()
