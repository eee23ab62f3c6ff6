"""Copies that lost a part of themselves between batches: what their other files tell of it, and what follows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from epoch.checkpoint import format_checkpoint
from replication.salvage import KeptDamagedError, PartitionReport, SalvageOptions, plan_salvage
from replication.transactions import find_broken
from tests.replication.copies.salvage.copies import data, values, write_copy

COMMON = data(0, b"common")
LOST = [data(1, b"a"), data(1, b"b"), data(3, b"c")]
"""Offsets 1 to 3."""


def log_of(root: Path, base: int = 0) -> Path:
    return root / "t-0" / f"{base:020d}.log"


def checkpoint(root: Path, name: str, offset: int) -> None:
    (root / name).write_bytes(format_checkpoint([("t", 0, offset)]))


def snapshot(root: Path, offset: int) -> None:
    (root / "t-0" / f"{offset:020d}.snapshot").touch()


def epochs(_root: Path, _offset: int) -> None:
    """The copies have a checkpoint of leader epochs, which says that epoch 3 began at 3."""


TELLERS: dict[str, tuple[Callable[[Path, int], object], int]] = {
    "replication-offset-checkpoint": (lambda root, at: checkpoint(root, "replication-offset-checkpoint", at), 4),
    "recovery-point-offset-checkpoint": (lambda root, at: checkpoint(root, "recovery-point-offset-checkpoint", at), 4),
    f"{4:020d}.snapshot": (snapshot, 4),
    "leader-epoch-checkpoint": (epochs, 3),
}
CUTS: dict[str, Callable[[Path], object]] = {
    "emptied": lambda root: log_of(root).write_bytes(b""),
    "gone": lambda root: log_of(root).unlink(),
    "cut": lambda root: cut(root, b"b"),
}
ENDS = {"emptied": 0, "gone": 0, "cut": 2}


def cut(root: Path, value: bytes) -> None:
    """End the log before the batch of a value, the last but one."""
    content = log_of(root).read_bytes()
    size = len(data(1, value)[1])
    log_of(root).write_bytes(content[: -2 * size])


def some_copies(directory: Path) -> list[Path]:
    kept = write_copy(directory / "broker-0", [COMMON, data(2, b"kept")])
    return [kept, write_copy(directory / "broker-1", [COMMON, *LOST])]


def salvaged(roots: list[Path], **options: Any) -> tuple[list[bytes | None], PartitionReport]:
    records: list[Any] = []
    [report] = plan_salvage(roots, "broker-0", SalvageOptions(**options)).reports(records.append)
    return values(records), report


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("file", TELLERS)
def test_a_losing_copy_that_its_own_files_say_reached_further_is_told(file: str, how: str, tmp_path: Path) -> None:
    roots = some_copies(tmp_path)
    tell, reached = TELLERS[file]
    tell(roots[1], reached)
    CUTS[how](roots[1])
    _, report = salvaged(roots)
    [(source, offset, error)] = report.damage
    assert (source, offset, report.is_in_doubt) == ("broker-1", ENDS[how], True)
    assert f"the log ends at {ENDS[how]}, and its {file} says that it reached {reached}; what is between" in str(error)
    [compared] = find_broken(plan_salvage(roots, "broker-0"))
    assert [str(each) for each in compared.damage.values()] == [str(error)]


def test_one_whose_files_say_no_more_than_its_log_has_is_whole(tmp_path: Path) -> None:
    roots = some_copies(tmp_path)
    for tell, _ in TELLERS.values():
        tell(roots[0], 2)
        tell(roots[1], 4)
    found, report = salvaged(roots)
    assert (found, report.damage, report.is_in_doubt) == ([b"a", b"b", b"c"], [], False)


def split(root: Path, *bases: int) -> None:
    """Divide a log whose batches are of one size into segments."""
    content = log_of(root).read_bytes()
    positions = [0]
    while positions[-1] < len(content):
        at = positions[-1]
        positions.append(at + 12 + int.from_bytes(content[at + 8 : at + 12], "big"))
    for first, end in zip((0, *bases), (*bases, len(positions) - 1), strict=True):
        log_of(root, first).write_bytes(content[positions[first] : positions[end]])


@pytest.mark.parametrize("compacted", [False, True])
def test_a_segment_that_is_missing_in_between_is_told_where_the_topic_is_not_compacted(
    compacted: bool,
    tmp_path: Path,
) -> None:
    roots = some_copies(tmp_path)
    split(roots[1], 1, 2, 3)
    log_of(roots[1], 2).unlink()
    options: dict[str, Any] = {"compacted": frozenset({"t"})} if compacted else {}
    found, report = salvaged(roots, **options)
    assert found == [b"a", b"c"]
    assert [(source, offset) for source, offset, _ in report.damage] == ([] if compacted else [("broker-1", 2)])
    assert report.is_in_doubt is not compacted
    [compared] = find_broken(plan_salvage(roots, "broker-0", SalvageOptions(**options)))
    assert list(compared.damage) == ([] if compacted else ["broker-1"])


@pytest.mark.parametrize("deleted", [False, True])
def test_a_first_segment_of_which_only_an_index_is_left_is_told_unless_its_records_were_deleted(
    deleted: bool,
    tmp_path: Path,
) -> None:
    roots = [write_copy(tmp_path / "broker-0", []), write_copy(tmp_path / "broker-1", [COMMON, *LOST])]
    split(roots[1], 2)
    log_of(roots[1]).unlink()
    log_of(roots[1]).with_suffix(".index").touch()
    if deleted:
        checkpoint(roots[1], "log-start-offset-checkpoint", 2)
    found, report = salvaged(roots)
    assert found == [b"b", b"c"]
    assert [(source, offset) for source, offset, _ in report.damage] == ([] if deleted else [("broker-1", 0)])


def flip(root: Path) -> None:
    log_of(root).write_bytes(log_of(root).read_bytes().replace(b"common", b"Common"))


def flip_and_stop(root: Path) -> None:
    flip(root)
    (root / ".kafka_cleanshutdown").touch()


def stretch(root: Path) -> None:
    """Damage the first batch's length: it seems to reach beyond the file."""
    content = bytearray(log_of(root).read_bytes())
    content[9] = 1
    log_of(root).write_bytes(content)


def lose_a_segment(root: Path) -> None:
    split(root, 1, 2)
    log_of(root, 1).unlink()


def lose_the_end(root: Path) -> None:
    checkpoint(root, "replication-offset-checkpoint", 4)
    log_of(root).write_bytes(b"")


@pytest.mark.parametrize("harm", [flip, flip_and_stop, stretch, lose_a_segment, lose_the_end])
def test_nothing_is_salvaged_where_the_kept_copy_is_damaged(harm: Callable[[Path], None], tmp_path: Path) -> None:
    ours = [COMMON, data(2, b"kept"), data(2, b"on")]
    roots = [write_copy(tmp_path / "broker-0", ours), write_copy(tmp_path / "broker-1", [COMMON, *LOST])]
    harm(roots[0])
    records: list[Any] = []
    errors: list[Exception] = []
    plan = plan_salvage(roots, "broker-0")
    assert list(plan.reports(records.append, on_error=lambda _, error: errors.append(error))) == []
    assert records == []
    [error] = errors
    assert isinstance(error, KeptDamagedError)
    assert "repair it first (epochlog repair), or name another" in str(error)
    told: list[Exception] = []
    assert list(plan.dry_run(workers=1, on_error=lambda _, error: told.append(error))) == []
    assert list(map(repr, told)) == list(map(repr, errors))


def test_a_batch_that_was_half_written_when_the_kept_broker_was_killed_is_no_such_damage(tmp_path: Path) -> None:
    roots = some_copies(tmp_path)
    with log_of(roots[0]).open("ab") as file:
        file.write(data(2, b"unfinished")[1][:40])
    found, report = salvaged(roots)
    assert found == [b"a", b"b", b"c"]
    assert [source for source, *_ in report.damage] == ["broker-0"]
