"""The work is planned by bytes: whatever the sizes, tasks are about equal and cover every byte once."""

from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.copies.audit.copy_summary import SegmentExtent
from replication.copies.audit.snapshots.work import (
    COPY_COST,
    ByteRange,
    Copy,
    Job,
    packed,
    plan_work,
    target_bytes,
    unpacked,
)

GIB = 1 << 30


@st.composite
def copies(draw: st.DrawFn) -> Copy:
    sizes = draw(st.lists(st.integers(0, 1000), max_size=8))
    segments = tuple(SegmentExtent(10 * number, size) for number, size in enumerate(sizes))
    topic_partition = TopicPartition("t", draw(st.integers(0, 10_000)))
    return Copy("broker-1", "/data", str(topic_partition), topic_partition, segments, draw(st.booleans()))


def jobs_of(all_copies: list[Copy]) -> list[Job]:
    return [Job(copy.replica, copy.root, copy) for copy in all_copies]


@given(st.lists(copies(), max_size=20, unique_by=lambda copy: copy.topic_partition), st.integers(1, 3000))
def test_every_byte_is_planned_once(all_copies: list[Copy], target: int) -> None:
    jobs = [job for task in plan_work(jobs_of(all_copies), target) for job in task]

    for copy in all_copies:
        of_copy = [job for job in jobs if job.copy == copy]
        parts = sorted(part for job in of_copy for part in (*map(as_tuple, job.ranges),))
        if not parts:
            assert len(of_copy) == 1
            continue
        for segment in copy.segments:
            ends = 0
            for base_offset, start, end in parts:
                if base_offset == segment.base_offset:
                    assert start == ends
                    ends = end
            assert ends == segment.size


def as_tuple(part: ByteRange) -> tuple[int, int, int]:
    return part.base_offset, part.start, part.end


@given(st.lists(copies(), max_size=20), st.integers(1, 3000))
def test_tasks_survive_the_way_to_an_executor(all_copies: list[Copy], target: int) -> None:
    tasks = plan_work([Job("broker-1", "/data"), *jobs_of(all_copies)], target)

    assert [unpacked(packed(task)) for task in tasks] == tasks


def copy_of(number: int, *sizes: int, is_local: bool = True) -> Copy:
    segments = tuple(SegmentExtent(number, size) for number, size in enumerate(sizes))
    return Copy("broker-1", "/data", f"t-{number}", TopicPartition("t", number), segments, is_local)


def test_small_copies_share_a_task() -> None:
    tasks = plan_work(jobs_of([copy_of(number, 10 << 20) for number in range(1000)]), 120 << 20)

    assert [len(task) for task in tasks] == [10] * 100


def test_large_copies_are_split_within_segments_too() -> None:
    tasks = plan_work(jobs_of([copy_of(0, GIB, GIB, 5)]), GIB // 4)

    assert len(tasks) == 9
    assert all(job.cost <= GIB // 4 + COPY_COST for task in tasks for job in task)


def test_remote_copies_are_split_only_between_segments_and_only_when_very_large() -> None:
    small, large = copy_of(0, GIB, GIB, is_local=False), copy_of(1, *[GIB] * 20, is_local=False)

    ranges = [job.ranges for task in plan_work(jobs_of([small, large]), GIB // 4) for job in task]

    assert sorted(map(len, ranges)) == [0, 4, 8, 8]
    assert all(part.start == 0 and part.end == GIB for parts in ranges for part in parts)


def test_targets_give_neither_tiny_tasks_nor_more_than_a_driver_can_keep_account_of() -> None:
    assert target_bytes(1000) == 256 << 20
    assert target_bytes(12 * GIB) == 12 * GIB // 24
    assert target_bytes(1 << 50) >= (1 << 50) // 20_000
