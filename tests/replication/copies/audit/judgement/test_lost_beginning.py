"""A log that begins below its first segment has lost what is between, unless remote storage may have it."""

from dataclasses import replace

import pytest

from replication.copies.audit.copy_summary import OffsetRange, SegmentExtent
from replication.copies.audit.judgement.findings.lost_beginning import lost_beginnings, with_its_lost_beginning
from replication.copies.audit.snapshots.registered import Registered
from tests.replication.copies.audit.summaries import T0, summary

ROBBED = summary("a", log_start_offset=60, recorded_start=20, segments=(SegmentExtent(60, 1_000),))
LOCAL = Registered("id", is_tiered=False)


def test_what_no_remote_storage_can_have_is_lost() -> None:
    found = with_its_lost_beginning(ROBBED, LOCAL)
    assert (found.begins_at, found.expected_start, found.gaps[0]) == (20, 20, OffsetRange(20, 59))
    assert found.errors == 1
    [finding] = lost_beginnings(T0, [ROBBED], LOCAL)
    assert (finding.replica, finding.finding.kind, finding.finding.offset) == ("a", "first-segment-missing", 20)


@pytest.mark.parametrize("registered", [None, Registered("id", is_tiered=True), Registered(None)])
def test_nothing_is_said_where_remote_storage_may_have_it(registered: Registered | None) -> None:
    assert with_its_lost_beginning(ROBBED, registered) is ROBBED
    assert list(lost_beginnings(T0, [ROBBED], registered)) == []


def test_a_log_that_begins_with_its_first_segment_has_lost_nothing() -> None:
    sound = replace(ROBBED, recorded_start=None)
    assert with_its_lost_beginning(sound, LOCAL) is sound
