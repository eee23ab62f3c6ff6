"""What `python -m bench.peer` does with the sides' times and answers."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.peer import client_works, turns
from bench.peer.comparison import compare
from bench.peer.kafka_timer import KafkaTimer
from bench.peer.turns import DifferentAnswersError, Settings, Timed, agree, take_turns
from bench.results import KAFKA, OURS, Row
from tests.oracle.kafka import classpath
from tests.oracle.release import BENCHMARKED

SETTINGS = Settings(Path(), size=1 << 20, rounds=3, warm_up=1e-9)


class Recorded:
    """Sides that note who is asked when: our times rise, Kafka's answers are given."""

    def __init__(self, kafkas_answer: int | None = 7) -> None:
        self.asked: list[str] = []
        self._kafkas_answer = kafkas_answer

    @property
    def sides(self) -> dict[str, Callable[[], Timed]]:
        return {OURS: self._ours, KAFKA: self._kafkas}

    def _ours(self) -> Timed:
        self.asked.append(OURS)
        return Timed(self.asked.count(OURS), 7)

    def _kafkas(self) -> Timed:
        self.asked.append(KAFKA)
        return Timed(100, self._kafkas_answer)


def test_each_side_is_first_in_turn() -> None:
    recorded = Recorded()
    take_turns(Row("work"), recorded.sides, SETTINGS)
    assert set(recorded.asked[::2]) == {OURS, KAFKA}
    assert recorded.asked[:4] == recorded.asked[3::-1]


def test_the_first_rounds_do_not_count() -> None:
    row = take_turns(Row("work"), Recorded().sides, SETTINGS)
    assert row.times == {OURS: [3, 4, 5], KAFKA: [100, 100, 100]}


def test_the_sides_warm_up_for_as_long_as_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=count().__next__))
    row = take_turns(Row("work"), Recorded().sides, replace(SETTINGS, warm_up=10))
    assert row.times[OURS] == [12, 13, 14]


def test_without_a_warm_up_every_round_counts() -> None:
    row = take_turns(Row("work"), Recorded().sides, replace(SETTINGS, warm_up=0))
    assert row.times[OURS] == [1, 2, 3]


def test_sides_that_find_different_things_are_not_compared() -> None:
    with pytest.raises(DifferentAnswersError, match=f"work: {OURS} 7, {KAFKA} 8; all sides must find the same"):
        take_turns(Row("work"), Recorded(kafkas_answer=8).sides, SETTINGS)


def test_a_side_that_finds_nothing_agrees_with_all() -> None:
    take_turns(Row("work"), Recorded(kafkas_answer=None).sides, SETTINGS)
    with pytest.raises(DifferentAnswersError):
        agree("work", {"write()": None, OURS: 0, KAFKA: 1})


def test_what_kafkas_side_cannot_do_is_told_with_the_command() -> None:
    classpath(BENCHMARKED)  # skips where Kafka's classes cannot be had
    timer = KafkaTimer("ScanTimer", "wall", measured=False)
    with pytest.raises(RuntimeError, match=r"ScanTimer cannot do \('headers', '/nowhere'\): .*/nowhere"):
        timer.ask("headers", "/nowhere")
    timer.close()


def test_without_room_each_kind_of_work_is_skipped_with_the_reason(tmp_path: Path) -> None:
    rows = list(compare(Settings(tmp_path, size=1 << 60, rounds=1), kafka=True))
    assert len({row.name for row in rows}) == len(rows) > 50
    assert all("GiB of disk" in row.skipped and not row.times for row in rows)
    assert not list(tmp_path.iterdir())


def test_without_aiokafka_what_is_measured_beside_it_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_works, "aiokafka_version", lambda: "")
    settings = Settings(tmp_path, size=1 << 20, rounds=1)
    rows = list(compare(settings, kafka=False, wanted=lambda name: name.endswith("beside aiokafka")))
    assert [row.skipped for row in rows] == ["aiokafka is not installed"] * 4
