"""What is counted of the events of a broker."""

from dataclasses import replace

import pytest

from logstore import TopicPartition
from replication.broker.events.event_counts import EventCounts
from replication.broker.events.partition_events import IsrChanged, Role, RoleChanged, Truncated

ORDERS = TopicPartition("orders", 0)
ISR = IsrChanged(
    partition=ORDERS,
    leader_epoch=1,
    partition_epoch=1,
    before=(1, 2),
    after=(1,),
    log_end_offset=0,
    high_watermark=0,
    is_asked=True,
    why="",
)


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
    cut = Truncated(
        partition=ORDERS,
        leader_epoch=1,
        last_epoch_before=1,
        last_epoch=1,
        before=9,
        after=5,
        records=4,
        size=100,
        high_watermark=9,
        is_below_high_watermark=True,
        why="",
    )
    for event in (cut, replace(cut, is_below_high_watermark=False, records=None)):
        counts.note(event)
    counts.note(RoleChanged(partition=ORDERS, before=Role.NONE, after=Role.LEADER, why=""))
    assert (counts.truncations, counts.truncations_below_high_watermark, counts.records_truncated) == (2, 1, 4)
    assert counts.role_changes == 1
