"""Clients find offsets by time, and are told when the position that they hold is none of the leader's history."""

from collections.abc import Callable
from random import Random

import pytest

from tests.campaign import run_seed
from tests.oracle.kafka import JavaProgram
from tests.replication.cluster.serving.seekers import (
    EARLIEST,
    NO_POLICY,
    TIMES,
    Position,
    PositionSeeker,
    TimeSeeker,
    Truncated,
    position_of_confluent_kafka,
    position_of_java,
    times_of_java,
)
from tests.replication.cluster.serving.served_set import Dumped, Served


def test_what_is_served_is_what_dump_prints(served: Served) -> None:
    for partition, dumped in served.dumped.items():
        if dumped.records:
            assert dumped.end == served.leaders(partition).log.log_end_offset
        seen = [(each.offset, each.timestamp) for each in served.truth(partition, committed=False)]
        assert set(seen) <= set(dumped.records)


@pytest.mark.parametrize("client", TIMES)
def test_seeking_by_time_finds_the_first_record_that_is_not_earlier(served: Served, client: str) -> None:
    ensure_times_are_found(served, TIMES[client])


def test_the_java_client_finds_times(served: Served, java: JavaProgram) -> None:
    ensure_times_are_found(served, times_of_java(java))


def test_librdkafka_reads_on_within_an_epoch_and_is_told_behind_its_end(served: Served) -> None:
    ensure_positions_are_validated(served, position_of_confluent_kafka)


def test_the_java_client_reads_on_within_an_epoch_and_is_told_behind_its_end(
    in_turn: Served, java: JavaProgram
) -> None:
    ensure_positions_are_validated(in_turn, position_of_java(java))


def ensure_times_are_found(served: Served, seek: TimeSeeker) -> None:
    """See that times before, at, between and after those of records are found where `dump` has them."""
    random = Random(run_seed())
    stamps = {partition: sorted({time for _, time in each.records}) for partition, each in served.dumped.items()}
    choices: list[Callable[[list[int]], int]] = [
        lambda some: some[0] - 1,
        lambda some: some[-1],
        lambda some: some[-1] + 1,
        random.choice,
        lambda some: random.choice(some) + 1,
        lambda some: random.randint(some[0], some[-1]),
    ]
    times = [{partition: choose(some or [1]) for partition, some in stamps.items()} for choose in choices]
    known = [{each: served.dumped[each].first_since(time) for each, time in at.items()} for at in times]
    assert seek(served.bootstrap, times) == known


def ensure_positions_are_validated(served: Served, seek: PositionSeeker) -> None:
    """See that each epoch's positions are read on from up to its end, and that those behind it are lost."""
    random = Random(run_seed())
    for partition, dumped in served.dumped.items():
        offsets = [each.offset for each in served.truth(partition, committed=False)]
        for epoch, start, end in dumped.positions():
            within = random.choice([each for each in offsets if start <= each < end])
            behind = Position(end + random.randint(1, 9), epoch)
            assert seek(served.bootstrap, partition, Position(within, epoch), NO_POLICY) == within
            assert seek(served.bootstrap, partition, behind, NO_POLICY) == Truncated(end)
            if end < dumped.end:
                first_of_the_next = next(each for each in offsets if each >= end)
                assert seek(served.bootstrap, partition, behind, EARLIEST) == first_of_the_next


def test_dumped_epochs_end_where_later_ones_begin() -> None:
    dumped = Dumped(epochs=[(0, 5), (3, 40)], end=90)
    assert [dumped.end_of(epoch) for epoch in (0, 1, 3, 4)] == [40, 40, 90, 90]
