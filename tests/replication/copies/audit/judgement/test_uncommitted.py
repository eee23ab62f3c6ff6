"""What somebody in sync never had was not committed; where that is not certain nothing is said."""

from collections.abc import Sequence
from typing import Any

import pytest

from epoch import EpochEntry
from epoch.history import MAX_OFFSET
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.judgement.uncommitted import uncommitted_from
from replication.copies.audit.snapshots.leaderships import EpochRange
from replication.copies.audit.snapshots.registered import Registered
from tests.replication.copies.audit.summaries import forked, summary


def copy(replica: str, *epochs: tuple[int, int], end: int = 100, **known: Any) -> CopySummary:
    return summary(replica, lineage=tuple(EpochEntry(*each) for each in epochs), log_end_offset=end, **known)


def by(
    summaries: Sequence[CopySummary],
    *ranges: tuple[int, int],
    complete: tuple[str, ...] = (),
    comparisons: Sequence[Comparison] = (),
) -> int:
    """Return from where on nothing of the first copy was committed."""
    registered = Registered("id", successions=tuple(EpochRange(*each) for each in ranges), complete=complete)
    pairs = {frozenset((each.left, each.right)): each for each in comparisons}
    return uncommitted_from(summaries[0], summaries, pairs, registered)


TAIL = copy("a", (0, 0), (1, 50))
LATER = copy("b", (0, 0), (1, 50), (2, 70))


def test_what_a_leader_lacked_that_took_over_was_not_committed() -> None:
    assert by([TAIL, LATER], (0, 2)) == 70
    assert by([LATER, TAIL], (0, 2)) == MAX_OFFSET


def test_one_that_wrote_nothing_is_known_by_its_checkpoint() -> None:
    led = copy("b", (0, 0), (1, 50), end=70, checkpointed_epochs=(EpochEntry(1, 50), EpochEntry(2, 70)))
    assert by([TAIL, led], (0, 2)) == 70


@pytest.mark.parametrize("ranges", [[(0, 1), (2, 2)], [(0, 0), (2, 2)], [(2, 2)], []])
def test_after_an_unclean_election_that_is_not_certain(ranges: list[tuple[int, int]]) -> None:
    assert by([TAIL, LATER], *ranges) == MAX_OFFSET


def test_what_an_unclean_leader_went_on_with_was_committed() -> None:
    again = copy("a", (0, 0), (1, 50), (3, 90))
    assert by([again, LATER], (0, 2), (3, 3)) == MAX_OFFSET
    assert by([again, copy("c", (0, 0), (1, 50), (3, 90), (4, 95))], (0, 2), (3, 4)) == 95


def test_several_epochs_may_be_uncommitted() -> None:
    tail = copy("a", (0, 0), (1, 50), (2, 80))
    assert by([tail, copy("b", (0, 0), (1, 50), (3, 60))], (0, 3)) == 60
    assert by([tail, copy("b", (0, 0), (3, 40))], (0, 3)) == 40


def test_where_logs_tell_different_beginnings_the_latest_counts() -> None:
    assert by([TAIL, LATER, copy("c", (0, 0), (2, 75))], (0, 2)) == 75


@pytest.mark.parametrize(
    "wrong", [{"errors": 1}, {"unread": 1}, {"damage": "torn"}, {"is_stray": True}, {"is_dropped": True}]
)
def test_a_copy_that_is_not_to_be_trusted_tells_nothing(wrong: dict[str, Any]) -> None:
    damaged = copy("b", (0, 0), (1, 50), (2, 70), **wrong)
    assert by([TAIL, damaged], (0, 2), complete=("b",)) == MAX_OFFSET


def test_nothing_was_committed_behind_the_end_of_one_that_has_everything() -> None:
    whole = copy("b", (0, 0), (1, 50), end=60)
    assert by([TAIL, whole], (0, 1), complete=("b",)) == 60
    assert by([TAIL, whole], (0, 1)) == MAX_OFFSET
    assert by([TAIL, whole], (0, 1), (2, 2), complete=("b",)) == MAX_OFFSET, "of an earlier leader's records unknown"
    assert by([TAIL, whole], (0, 1), complete=("b",), comparisons=[forked("a", "b", 55)]) == 55
