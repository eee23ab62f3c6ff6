"""Producers, followers and the controller in threads of their own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Event

from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import IsrChange
from tests.replication.cluster.broker.partitions.small_leader import SmallLeader, broker_epoch, granted

APPENDS = 400


def test_a_controller_may_answer_within_the_question(tmp_path: Path) -> None:
    with SmallLeader(tmp_path, isr=(1,)) as leader:

        def answer(change: IsrChange) -> None:
            leader.asked.append(change)
            leader.answer()

        leader.ask = answer  # type: ignore[method-assign]
        leader.append(3)
        leader.fetch(2, 3)
        leader.fetch(3, 3)
        assert leader.led.isr == (1, 2, 3)
        assert leader.high_watermark == 3


def test_all_that_was_appended_is_committed_at_last(tmp_path: Path) -> None:
    with SmallLeader(tmp_path, isr=(1,)) as leader, ThreadPoolExecutor() as pool:
        changes: SimpleQueue[IsrChange | None] = SimpleQueue()
        leader.ask = changes.put  # type: ignore[method-assign]
        is_done = Event()
        followers = [pool.submit(_follow, leader.led, broker_id, is_done) for broker_id in (2, 3)]
        controller = pool.submit(_answer, leader, changes)
        watermarks = pool.submit(_watch, lambda: leader.high_watermark, is_done)
        producers = [pool.submit(_produce, leader) for _ in range(2)]
        for producer in producers:
            producer.result()
        while leader.high_watermark < 2 * APPENDS or leader.led.wanted is not None:
            leader.led.check_lag()
        is_done.set()
        for follower in followers:
            follower.result()
        changes.put(None)
        controller.result()
        seen = watermarks.result()
        assert seen == sorted(seen)
        assert set(leader.led.isr) == {1, 2, 3}
        assert leader.led.replicated(2 * APPENDS) is ErrorCode.NONE


def _produce(leader: SmallLeader) -> None:
    for _ in range(APPENDS):
        leader.append()


def _follow(led: LedPartition, broker_id: int, is_done: Event) -> None:
    while not is_done.is_set():
        end = led._log.log_end_offset
        assert led.fetched(broker_id, broker_epoch(broker_id), end, 0) is ErrorCode.NONE


def _watch(high_watermark: Callable[[], int], is_done: Event) -> list[int]:
    seen = []
    while not is_done.is_set():
        seen.append(high_watermark())
    return seen


def _answer(leader: SmallLeader, changes: SimpleQueue[IsrChange | None]) -> None:
    while (change := changes.get()) is not None:
        leader.state = granted(leader.state, change)
        leader.led.answered(change, ErrorCode.NONE, leader.state)
        leader.led.answered(change, ErrorCode.NONE, leader.state)
