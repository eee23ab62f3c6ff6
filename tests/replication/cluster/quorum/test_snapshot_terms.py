"""When a snapshot is due, and when an earlier one goes: by Kafka's names and defaults."""

import pytest

from replication.cluster.quorum.snapshot_terms import SnapshotTerms

TERMS = SnapshotTerms(record_bytes=100, interval_ms=50, retention_bytes=1_000, retention_ms=200)


@pytest.mark.parametrize(
    ("bytes_since", "ms_since", "is_due"), [(99, 49, False), (100, 0, True), (0, 50, True), (99, 50, True)]
)
def test_a_snapshot_is_due_by_bytes_or_by_time(bytes_since: int, ms_since: int, is_due: bool) -> None:
    assert TERMS.is_due(bytes_since, ms_since) is is_due


def test_without_an_interval_none_is_due_by_time() -> None:
    assert not SnapshotTerms(interval_ms=0).is_due(0, 1 << 50)


@pytest.mark.parametrize(("size", "age", "is_over"), [(1_000, 200, False), (1_001, 0, True), (0, 201, True)])
def test_the_oldest_goes_by_the_size_of_all_or_by_its_age(size: int, age: int, is_over: bool) -> None:
    assert TERMS.is_over(size, age) is is_over


def test_without_limits_all_is_kept() -> None:
    assert not SnapshotTerms(retention_bytes=-1, retention_ms=-1).is_over(1 << 50, 1 << 50)
