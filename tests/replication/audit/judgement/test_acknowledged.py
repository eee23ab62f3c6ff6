"""What is known of acknowledgement is used, and what is not known is never counted as 0."""

from dataclasses import replace

import pytest

from epoch import EpochEntry
from replication.audit.comparison.comparison import Comparison
from replication.audit.judgement.acknowledged import acknowledged
from replication.audit.judgement.wording import acknowledged_in_words
from replication.audit.snapshots.registered import Registered
from tests.replication.audit.summaries import forked, summary


def pair(*comparisons: Comparison) -> dict[frozenset[str], Comparison]:
    return {frozenset((each.left, each.right)): each for each in comparisons}


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
    ("numbers", "words"),
    [
        ((120, 0, 0), "0 of them acknowledged"),
        ((120, 120, 0), "120 of them acknowledged"),
        ((250, 0, 250), "whether they were acknowledged is not known"),
        ((1, 0, 1), "whether it was acknowledged is not known"),
        ((120, 70, 50), "at least 70 of them acknowledged, at most 120"),
        ((120, 0, 50), "at most 50 of them acknowledged"),
    ],
)
def test_what_nobody_knows_is_said_as_unknown(numbers: tuple[int, int, int], words: str) -> None:
    assert acknowledged_in_words(*numbers) == words
