from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from replication.testing.simulated.process import Alarm, Process
from replication.testing.simulated.timeline import Timeline


def _note(timeline: Timeline, happened: list[tuple[int, int]], number: int) -> None:
    happened.append((timeline.now_ms, number))


def run(timeline: Timeline, milliseconds: int) -> None:
    end = timeline.now_ms + milliseconds
    while (do := timeline.next_until(end)) is not None:
        do()


@given(st.lists(st.integers(0, 50), max_size=30))
def test_events_happen_in_order_of_their_time_and_then_as_they_were_planned(delays: list[int]) -> None:
    timeline, happened = Timeline(), list[tuple[int, int]]()
    for number, delay in enumerate(delays):
        timeline.after(delay, partial(_note, timeline, happened, number))
    run(timeline, 50)
    assert happened == sorted((delay, number) for number, delay in enumerate(delays))
    assert timeline.now_ms == 50


def test_a_paused_process_does_later_what_was_due_meanwhile() -> None:
    timeline, happened = Timeline(), list[int]()
    process = Process(timeline)
    process.after(10, lambda: happened.append(timeline.now_ms))
    process.after(30, lambda: happened.append(timeline.now_ms))
    process.pause()
    run(timeline, 20)
    process.resume()
    run(timeline, 20)
    assert happened == [20, 30]


def test_a_process_that_has_ended_does_nothing_any_more() -> None:
    timeline, happened = Timeline(), list[int]()
    process = Process(timeline)
    process.pause()
    process.do(lambda: happened.append(0))
    process.after(10, lambda: happened.append(10))
    process.end()
    process.resume()
    run(timeline, 20)
    assert happened == []


def test_an_alarm_rings_at_its_last_time_alone() -> None:
    timeline, rung = Timeline(), list[int]()
    alarm = Alarm(Process(timeline), lambda: rung.append(timeline.now_ms))
    alarm.set(10)
    alarm.set(25)
    run(timeline, 20)
    alarm.set_in(10)
    run(timeline, 20)
    assert rung == [30]
    alarm.set_in(10)
    alarm.set(None)
    run(timeline, 20)
    assert rung == [30]
