"""The work queues that are measured side by side do the same, and what is lost is counted."""

from pathlib import Path

import pytest

from bench.results import OURS
from bench.work_queues.__main__ import kill, measure
from bench.work_queues.queues import QUEUES


@pytest.mark.parametrize("name", QUEUES)
def test_each_queue_gives_out_what_was_put_until_it_is_acknowledged(name: str, tmp_path: Path) -> None:
    queue = QUEUES[name](tmp_path)
    queue.put([b"1", b"2", b"3"])
    assert queue.left() == 3
    taken = [each for _ in range(3) for each in queue.take(1)]
    assert [value for _, value in taken] == [b"1", b"2", b"3"]
    assert queue.take(1) == []
    queue.ack(taken[:2])
    assert queue.left() == 1
    queue.close()


def test_they_are_measured_in_processes_of_their_own(tmp_path: Path) -> None:
    found = measure(OURS, tmp_path, items=4, batch=5, workers=2)
    assert found.keys() == {"put", "take and ack"}
    assert min(found.values()) > 0
    assert list(tmp_path.iterdir()) == []


def test_ours_loses_nothing_where_processes_are_killed(tmp_path: Path) -> None:
    found = kill(OURS, tmp_path, kills=1)
    assert found.pop("put") > 0
    found.pop("done more than once")
    assert set(found.values()) == {0}
