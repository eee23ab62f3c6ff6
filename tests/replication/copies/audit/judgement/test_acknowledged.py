"""What is known of acknowledgement is used, and what is not known is never counted as 0."""

from dataclasses import replace

import pytest

from epoch import EpochEntry
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.judgement import acknowledged as module
from replication.copies.audit.judgement.wording import acknowledged_in_words
from replication.copies.audit.snapshots.registered import ReadPosition, Registered
from tests.replication.copies.audit.summaries import forked, summary


def pair(*comparisons: Comparison) -> dict[frozenset[str], Comparison]:
    return {frozenset((each.left, each.right)): each for each in comparisons}


def acknowledged(
    summaries: list[CopySummary],
    comparisons: dict[frozenset[str], Comparison],
    registered: Registered | None = None,
) -> dict[str, int]:
    """Return below which offset all is known to be acknowledged."""
    told = module.acknowledged(summaries, comparisons, registered)
    assert all(each.at_most >= each.known for each in told.values())
    return {name: each.known for name, each in told.items()}


SAME = replace(forked("a", "b", 0), fork=None, first_difference=None)


@pytest.mark.parametrize("reset", [None, 0])
def test_a_high_watermark_that_is_missing_or_was_reset_tells_nothing(reset: int | None) -> None:
    assert acknowledged([summary("a", checkpointed_high_watermark=reset)], {}) == {"a": 0}
    assert acknowledged([summary("a", checkpointed_high_watermark=7)], {}) == {"a": 7}


def test_another_copys_counts_as_far_as_both_are_the_same_log() -> None:
    summaries = [summary("a", checkpointed_high_watermark=0), summary("b", checkpointed_high_watermark=60)]
    assert acknowledged(summaries, pair(SAME))["a"] == 60
    assert acknowledged(summaries, pair(forked("a", "b", 40)))["a"] == 40
    assert acknowledged(summaries, {})["a"] == 0


def test_what_a_leader_wrote_alone_in_sync_was_acknowledged_as_it_was_written() -> None:
    lineage = (EpochEntry(0, 0), EpochEntry(1, 50), EpochEntry(2, 80))
    copy = summary("a", checkpointed_high_watermark=None, lineage=lineage)
    for epoch, end in ((0, 50), (1, 80), (2, 100)):
        told = acknowledged([copy], {}, Registered("id", {"a": epoch}))
        assert told == {"a": end}
    assert acknowledged([copy], {}, Registered("id", {"b": 2})) == {"a": 0}


@pytest.mark.parametrize(
    ("read", "known"),
    [
        (ReadPosition(70, 1), 70),
        (ReadPosition(95, 1), 80),
        (ReadPosition(95, 2), 95),
        (ReadPosition(140, 2), 100),
        (ReadPosition(95, 7), 0),
        (ReadPosition(95, -1), 0),
    ],
    ids=[
        "in the epoch",
        "beyond its end here",
        "in the latest",
        "beyond the log",
        "in another log",
        "in none that is said",
    ],
)
def test_what_a_group_has_read_in_a_leader_epoch_was_acknowledged_in_it(read: ReadPosition, known: int) -> None:
    lineage = (EpochEntry(0, 0), EpochEntry(1, 50), EpochEntry(2, 80))
    copy = summary("a", checkpointed_high_watermark=None, lineage=lineage)
    assert acknowledged([copy], {}, Registered("id", read_to=(read,))) == {"a": known}


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((120, 0, 0), "acknowledged with acks=1, if at all"),
        ((120, 70, 0), "70 of them acknowledged, the other 50 with acks=1, if at all"),
        ((120, 60, 10), "at least 60 of them acknowledged, at most 70, the other 50 with acks=1, if at all"),
        ((120, 120, 0), "120 of them acknowledged"),
        ((250, 0, 250), "whether they were acknowledged is not known"),
        ((1, 0, 1), "whether it was acknowledged is not known"),
        ((120, 70, 50), "at least 70 of them acknowledged, at most 120"),
        ((120, 0, 50), "at most 50 of them acknowledged, the other 70 with acks=1, if at all"),
    ],
)
def test_what_nobody_knows_is_said_as_unknown(numbers: tuple[int, int, int], words: str) -> None:
    assert acknowledged_in_words(*numbers) == words
