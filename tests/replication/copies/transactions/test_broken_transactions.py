"""What unclean elections make of transactions is told of each as the copies show it, and of no other."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from logstore import TopicPartition
from logstore.batch.control import ControlType
from replication.copies.salvage.transactions import Outcome
from replication.salvage import plan_salvage
from replication.transactions import Break, BrokenTransaction, find_broken
from tests.replication.copies.salvage.copies import ABORT, COMMIT, Part, data, marker, write_copy

COMMON = data(0, b"common")


def transaction(epoch: int, *contents: bytes, sequence: int = 0, producer: int = 7, producer_epoch: int = 0) -> Part:
    return data(
        epoch, *contents, producer=producer, producer_epoch=producer_epoch, sequence=sequence, transactional=True
    )


BEGUN = transaction(0, b"begun")


def broken(directory: Path, kept: Sequence[Part], other: Sequence[Part]) -> list[BrokenTransaction]:
    roots = [write_copy(directory / f"broker-{number}", parts) for number, parts in enumerate((kept, other))]
    [compared] = find_broken(plan_salvage(roots, "broker-0"))
    assert not compared.damage
    return list(compared.broken)


@pytest.mark.parametrize(("end", "outcome"), [(COMMIT, Outcome.COMMITTED), (ABORT, Outcome.ABORTED)])
def test_one_whose_marker_was_cut_off_is_open_in_the_kept_copy(
    end: ControlType, outcome: Outcome, tmp_path: Path
) -> None:
    kept = [COMMON, BEGUN, data(2, b"later")]
    [found] = broken(tmp_path, kept, [COMMON, BEGUN, transaction(1, b"more", sequence=1), marker(1, end, 7)])
    assert found == BrokenTransaction(
        TopicPartition("t", 0), Break.END_CUT_OFF, "broker-1", 2, 7, 0, 1, 2, outcome, 3, Outcome.OPEN, 1
    )
    assert found.is_open


@pytest.mark.parametrize(("one", "other"), [(COMMIT, ABORT), (ABORT, COMMIT)])
def test_one_that_the_copies_decide_differently_is_told_with_both(
    one: ControlType, other: ControlType, tmp_path: Path
) -> None:
    [found] = broken(tmp_path, [BEGUN, marker(2, one, 7)], [BEGUN, data(1, b"x"), marker(1, other, 7)])
    assert (found.kind, found.end_offset, found.kept_offset) == (Break.DECIDED_DIFFERENTLY, 2, 1)
    assert {found.outcome, found.kept_outcome} == {Outcome.COMMITTED, Outcome.ABORTED}


@pytest.mark.parametrize("kept_end", [[], [marker(2, COMMIT, 7)]])
def test_one_that_lost_its_last_records_may_be_or_was_committed_without_them(
    kept_end: list[Part], tmp_path: Path
) -> None:
    [found] = broken(tmp_path, [BEGUN, *kept_end], [BEGUN, transaction(1, b"lost", sequence=1)])
    assert (found.kind, found.first_offset, found.last_offset) == (Break.PART_CUT_OFF, 0, 1)
    assert found.is_open is (not kept_end)


def test_one_whose_first_records_were_cut_off_is_told(tmp_path: Path) -> None:
    kept = [COMMON, transaction(2, b"second", sequence=1), marker(2, COMMIT, 7)]
    [found] = broken(tmp_path, kept, [COMMON, transaction(1, b"first")])
    assert (found.kind, found.first_offset, found.kept_offset) == (Break.BEGINNING_CUT_OFF, 1, 2)
    assert (found.outcome, found.kept_outcome) == (Outcome.OPEN, Outcome.COMMITTED)


@pytest.mark.parametrize("marker_epoch", [0, 1])
def test_one_that_was_committed_without_any_record_is_told(marker_epoch: int, tmp_path: Path) -> None:
    kept = [COMMON, marker(2, COMMIT, 7, marker_epoch)]
    [found] = broken(tmp_path, kept, [COMMON, transaction(1, b"all"), marker(1, COMMIT, 7)])
    assert (found.kind, found.kept_offset, found.kept_outcome) == (Break.RECORDS_CUT_OFF, 1, Outcome.COMMITTED)


@pytest.mark.parametrize(
    ("kept", "other"),
    [
        pytest.param([BEGUN, marker(2, COMMIT, 7)], [BEGUN, marker(1, COMMIT, 7)], id="the same end"),
        pytest.param([BEGUN, marker(2, ABORT, 7)], [BEGUN, transaction(1, b"x", sequence=1)], id="aborted, cut off"),
        pytest.param([BEGUN, data(2, b"x")], [BEGUN, data(1, b"y")], id="open in both, all of it"),
        pytest.param([COMMON], [COMMON, transaction(1, b"x"), marker(1, COMMIT, 7)], id="wholly beyond the fork"),
        pytest.param(
            [COMMON, transaction(2, b"x"), marker(2, COMMIT, 7)],
            [COMMON, transaction(1, b"x"), marker(1, COMMIT, 7)],
            id="sent again",
        ),
        pytest.param(
            [BEGUN, transaction(2, b"x", sequence=1), marker(2, COMMIT, 7)],
            [BEGUN, transaction(1, b"x", sequence=1), marker(1, COMMIT, 7)],
            id="its end sent again",
        ),
        pytest.param([COMMON, marker(2, ABORT, 7)], [COMMON, transaction(1, b"x")], id="aborted without a record"),
        pytest.param(
            [COMMON, transaction(2, b"x", producer_epoch=1), marker(2, COMMIT, 7, 1)],
            [COMMON, transaction(1, b"x"), marker(1, COMMIT, 7)],
            id="a later transaction of the producer",
        ),
        pytest.param(
            [BEGUN, marker(0, COMMIT, 7), data(2, b"x")], [BEGUN, marker(0, COMMIT, 7), data(1, b"y")], id="below"
        ),
    ],
)
def test_all_others_are_not(kept: list[Part], other: list[Part], tmp_path: Path) -> None:
    assert broken(tmp_path, kept, other) == []


def test_what_lies_behind_damage_is_not_told_and_that_is_said(tmp_path: Path) -> None:
    other = [COMMON, BEGUN, data(1, b"x"), marker(1, COMMIT, 7)]
    roots = [write_copy(tmp_path / f"broker-{number}", parts) for number, parts in enumerate(([COMMON, BEGUN], other))]
    log = roots[1] / "t-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    content[-90] ^= 1
    log.write_bytes(content)
    [compared] = find_broken(plan_salvage(roots, "broker-0"))
    assert list(compared.damage) == ["broker-1"]
