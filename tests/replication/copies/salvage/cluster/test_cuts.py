"""Our transactions end between those of producers, and end all the same where that is not to be had."""

import random
from typing import NamedTuple

from replication.copies.salvage.cluster.cuts import Cuts
from replication.salvage import TransactionSize

BYTES = 100


class Row(NamedTuple):
    """A record, by where it is and what it is of."""

    offset: int
    producer: int = -1
    transaction: int = -1

    @property
    def source(self) -> tuple[int, int]:
        return self.producer, self.transaction


def divided(rows: list[Row], size: TransactionSize) -> list[list[Row]]:
    cuts = Cuts(size, {row.source: number for number, row in enumerate(rows, 1)})
    parts: list[list[Row]] = [[]]
    for row in rows:
        parts[-1].append(row)
        if cuts.follow(row.source, BYTES):
            parts.append([])
    return [part for part in parts if part]


def test_records_of_no_transaction_are_divided_by_their_number_or_bytes() -> None:
    records = [Row(offset) for offset in range(10)]
    assert [len(part) for part in divided(records, TransactionSize(records=4))] == [4, 4, 2]
    assert [len(part) for part in divided(records, TransactionSize(bytes=250))] == [3, 3, 3, 1]


def test_a_transaction_is_in_one_part_and_parts_are_no_larger_than_that_takes() -> None:
    rng = random.Random(5)
    for _ in range(300):
        records = lived(rng)
        parts = divided(records, TransactionSize(records=7))
        assert [each for part in parts for each in part] == records
        for part in parts:
            for each in part:
                if each.transaction >= 0:
                    whole = [other for other in records if other.source == each.source]
                    assert set(whole) <= set(part)
        for part in parts[:-1]:
            assert len(part) >= 7
            assert not any(is_sound_end(records, part, count) for count in range(7, len(part)))


def lived(rng: random.Random) -> list[Row]:
    """Three producers' transactions, overlapping."""
    begun: dict[int, int] = {}
    found = []
    for offset in range(60):
        producer = rng.randrange(4)
        if producer == 3:
            found.append(Row(offset))
            continue
        found.append(Row(offset, producer, begun.setdefault(producer, offset)))
        if rng.random() < 0.6:
            del begun[producer]
    return found


def is_sound_end(records: list[Row], part: list[Row], count: int) -> bool:
    """Whether no transaction would be divided if the part ended after so many records."""
    inside = {each.source for each in part[:count] if each.transaction >= 0}
    after = records[records.index(part[count - 1]) + 1 :]
    return not any(each.source in inside for each in after)


def test_transactions_that_overlap_on_and_on_are_divided_at_ten_times_the_size() -> None:
    records = [Row(offset, offset % 2, offset % 2) for offset in range(100)]
    assert [len(part) for part in divided(records, TransactionSize(records=3))] == [30, 30, 30, 10]


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_it_ends_by_the_clock_too_counted_from_its_first_record() -> None:
    clock = Clock()
    cuts = Cuts(TransactionSize(seconds=15), {}, clock)
    clock.now += 100
    assert [cuts.ends(), cuts.follow((-1, -1), 0), cuts.follow_plain(5, 500)] == [False] * 3
    clock.now += 14
    assert [cuts.ends(), cuts.follow_plain(5, 500)] == [False] * 2
    clock.now += 1
    assert [cuts.ends(), cuts.ends()] == [True, False], "there is none to end any more"
    clock.now += 100
    assert not cuts.follow((-1, -1), BYTES), "the next one has begun just now"
    clock.now += 15
    assert cuts.follow((-1, -1), BYTES)


def test_by_the_clock_a_source_transaction_is_divided_at_ten_times_the_time_only() -> None:
    clock = Clock()
    cuts = Cuts(TransactionSize(seconds=15), {(7, 3): 2, (7, 9): 4}, clock)
    cuts.follow((7, 3), BYTES)
    clock.now += 149
    assert not cuts.ends()
    assert cuts.follow((7, 3), BYTES), "its last record"
    cuts.follow((7, 9), BYTES)
    clock.now += 150
    assert cuts.ends()


def test_records_that_come_thousands_at_once_are_taken_so_up_to_a_quarter_more_than_the_size() -> None:
    cuts = Cuts(TransactionSize(records=100, bytes=100_000), {})
    assert (cuts.fits(125, 1), cuts.fits(126, 1), cuts.fits(1, 125_000), cuts.fits(1, 125_001)) == (
        True,
        False,
        True,
        False,
    )
    assert [cuts.follow_plain(60, 1), cuts.fits(65, 1), cuts.fits(66, 1)] == [False, True, False]
    assert [cuts.follow_plain(60, 1), cuts.fits(125, 1)] == [True, True]
    assert [cuts.follow((-1, -1), BYTES) for _ in range(100)] == [False] * 99 + [True]


def test_after_some_that_came_at_once_a_transaction_is_known_by_its_last_record() -> None:
    cuts = Cuts(TransactionSize(records=2), {(7, 3): 5})
    cuts.follow_plain(2, 1)
    assert [cuts.follow((7, 3), BYTES), cuts.follow((-1, -1), BYTES), cuts.follow((7, 3), BYTES)] == [
        False,
        False,
        True,
    ]
