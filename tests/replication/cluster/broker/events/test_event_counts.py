"""What is counted of the events of a broker."""

from dataclasses import replace

import pytest

from replication.cluster.broker.events.event_counts import EventCounts
from tests.replication.cluster.broker.events.samples import CUT, DROPPED, ISR, RECOVERY_CUT, ROLE


@pytest.mark.parametrize(
    ("before", "after", "shrinks", "expands"),
    [((1, 2), (1,), 1, 0), ((1,), (1, 2), 0, 1), ((1, 2), (1, 3), 1, 1), ((1, 2), (2, 1), 0, 0)],
)
def test_isrs_shrink_and_expand(before: tuple[int, ...], after: tuple[int, ...], shrinks: int, expands: int) -> None:
    counts = EventCounts()
    counts.note(replace(ISR, before=before, after=after))
    assert (counts.isr_shrinks, counts.isr_expands) == (shrinks, expands)


def test_what_the_controller_does_by_itself_is_not_the_leaders() -> None:
    counts = EventCounts()
    counts.note(replace(ISR, is_asked=False))
    assert counts.isr_shrinks == 0


def test_truncations_and_roles() -> None:
    counts = EventCounts()
    cut = replace(CUT, records=4, is_below_high_watermark=True)
    for event in (cut, replace(cut, is_below_high_watermark=False, records=None)):
        counts.note(event)
    counts.note(ROLE)
    assert (counts.truncations, counts.truncations_below_high_watermark, counts.records_truncated) == (2, 1, 4)
    assert counts.role_changes == 1


def test_what_recovery_cuts_is_counted_by_itself() -> None:
    counts = EventCounts()
    uncounted = [replace(tail, records=None) for tail in DROPPED.dropped]
    counts.note(RECOVERY_CUT)
    counts.note(replace(RECOVERY_CUT, report=replace(DROPPED, dropped=uncounted, high_watermark_before=None)))
    assert (counts.recovery_truncations, counts.recovery_truncations_below_high_watermark) == (2, 1)
    assert (counts.records_truncated_by_recovery, counts.bytes_truncated_by_recovery) == (40, 5_400)
    assert (counts.truncations, counts.records_truncated) == (0, 0)
