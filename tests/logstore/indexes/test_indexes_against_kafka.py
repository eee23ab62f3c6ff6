"""Index files and lookups by time where indexes are small and timestamps go up and down, beside Kafka's UnifiedLog."""

import random
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from tests.campaign import Campaign
from tests.logstore.log_pair import KafkaCannotOpenError, LogPair
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

WALKS = Campaign("index-oracle", full=500, share=20)
STEPS = 40
TIMES = 3_000
"""Most timestamps lie below it."""


@pytest.fixture(scope="module")
def log_oracle(release: KafkaRelease) -> Iterator[JavaProgram]:
    """Kafka's UnifiedLog."""
    with JavaProgram(release, "LogOracle") as oracle:
        yield oracle


def options(rng: random.Random, least_index_bytes: int = 24) -> dict[str, int | str]:
    sizes = [size for size in (24, 25, 36, 40, 47, 48, 60, 64, 72, 100, 200) if size >= least_index_bytes]
    return {
        "segmentBytes": rng.choice([1_200, 3_000, 50_000]),
        "indexInterval": rng.choice([0, 0, 100, 300]),
        "indexBytes": rng.choice(sizes),
        "segmentMs": rng.choice([300, 2**40, 2**40]),
        "retentionBytes": rng.choice([-1, 4_000]),
    }


class Walk:
    """Appends, and much of what cuts indexes, completes them and opens them again, also with other limits."""

    def __init__(self, pair: LogPair, rng: random.Random) -> None:
        self.pair = pair
        self.rng = rng
        self.now = 1_000
        self.style = rng.choice(["rising", "noisy", "falling", "any", "none"])

    def run(self, steps: int) -> None:
        actions = {
            self.append_as_follower: 22,
            self.append_as_leader: 8,
            self.truncate: 6,
            self.truncate_fully: 0.4,
            self.pair.roll: 1,
            self.reopen: 4,
            self.crash: 2,
            self.pair.flush: 1,
            self.ask_by_time: 1.5,
            self.read: 1,
            self.retain: 0.6,
            self.delete_records: 0.6,
            self.pair.check_indexes: 1,
        }
        for action in self.rng.choices(list(actions), list(actions.values()), k=steps):
            action()
        self.pair.check_content()
        for timestamp in range(0, TIMES, TIMES // 5):
            self.look_up(timestamp)
        self.pair.close()

    @property
    def end(self) -> int:
        return self.pair.log.log_end_offset

    def timestamp(self) -> int:
        rng = self.rng
        self.now += rng.randrange(50)
        return {
            "rising": self.now,
            "noisy": max(self.now - rng.randrange(500), 0),
            "falling": max(TIMES - self.now, 0),
            "any": rng.choice([-1, 0, 1, rng.randrange(TIMES), self.now]),
            "none": -1,
        }[self.style if rng.random() < 0.8 else "any"]

    def batch(self, base_offset: int = 0) -> bytes:
        timestamp, step, value = self.timestamp(), self.rng.choice([0, 1]), bytes(self.rng.choice([0, 10, 80]))
        records = [
            Record(number, -1 if timestamp < 0 else timestamp + number * step, None, value)
            for number in range(self.rng.choice([1, 1, 2, 3, 5]))
        ]
        return bytes(encode_batch(records, BatchTemplate(base_offset=base_offset, leader_epoch=0)))

    def append_as_follower(self) -> None:
        gap = self.rng.choice([0, 0, 0, 0, 0, 0, 3])
        self.pair.append_as_follower(self.batch(self.end + gap), 0)

    def append_as_leader(self) -> None:
        self.pair.append_as_leader(self.batch(), 0)

    def truncate(self) -> None:
        """Near the log's end, or where a segment begins."""
        rng = self.rng
        begin = rng.choice(self.pair.log.segments).base_offset + rng.choice([0, 0, 1, 2, 3])
        back = max(self.end - rng.choice([1, 2, 3, 5, 8, 13, 20]), 0)
        self.pair.truncate_to(begin if rng.random() < 0.3 else back)

    def truncate_fully(self) -> None:
        self.pair.truncate_fully_and_start_at(max(self.end + self.rng.choice([0, 0, 7, -3]), 0), None)

    def reopen(self) -> None:
        self.pair.close()
        self.open()

    def crash(self) -> None:
        self.pair.crash()
        self.open()

    def open(self) -> None:
        """Limits are never lowered: Kafka cannot open a log whose indexes exceed them."""
        if self.rng.random() < 0.4:
            self.pair.options = options(self.rng, int(self.pair.options["indexBytes"]))
        self.pair.open()

    def ask_by_time(self) -> None:
        self.look_up(self.rng.choice([0, 1, self.rng.randrange(TIMES), self.now]))

    def look_up(self, timestamp: int) -> None:
        found = self.pair.log.offset_for_timestamp(timestamp)
        assert (found and found[:2]) == self.pair.first_not_before(timestamp), self.pair.context()
        self.pair.offset_for_timestamp(timestamp)

    def read(self) -> None:
        offset = self.rng.randrange(self.pair.log.log_start_offset, self.end + 1)
        self.pair.read(offset, 300, Isolation.LOG_END, min_one_batch=True)

    def retain(self) -> None:
        self.pair.high_watermark(self.end)
        self.pair.delete_old_segments()

    def delete_records(self) -> None:
        self.pair.high_watermark(self.end)
        self.pair.delete_records(self.rng.randrange(self.pair.log.log_start_offset, self.end + 1))


def test_small_indexes_are_kafkas_and_lookups_miss_no_record(log_oracle: JavaProgram, tmp_path: Path) -> None:
    for number in range(WALKS.count):
        seed = WALKS.seed * 1_000_003 + number
        rng = random.Random(seed)
        root = tmp_path / str(number)
        root.mkdir()
        pair = LogPair(log_oracle, root, options(rng))
        try:
            Walk(pair, rng).run(STEPS)
        except KafkaCannotOpenError:
            pair.log.abandon()
        except BaseException as error:
            log_oracle.ask("crash")
            error.add_note(f"walk {number}, seed {seed}")
            raise
        rmtree(root)
    WALKS.report(WALKS.count, beside=log_oracle.release)


class TestWhereKafkasDiffer:
    """Each known cause, and that a lookup by time goes wrong in Kafka's log only."""

    OFFSET_INDEX, TIME_INDEX = "00000000000000000000.index", "00000000000000000000.timeindex"

    @pytest.fixture
    def pair(self, log_oracle: JavaProgram, tmp_path: Path) -> Iterator[LogPair]:
        limits = {"segmentBytes": 50_000, "segmentMs": 2**40, "retentionBytes": -1}
        yield LogPair(log_oracle, tmp_path, {"indexInterval": 0, "indexBytes": 72} | limits)
        log_oracle.ask("crash")

    def append(self, pair: LogPair, *timestamps: int) -> None:
        for timestamp in timestamps:
            pair.append_as_leader(bytes(encode_batch([Record.of(b"value", timestamp=timestamp)])), 0)

    def sizes(self, differing: dict[str, tuple[Any, Any]]) -> dict[str, tuple[int, int]]:
        return {name: (len(ours or b""), len(kafkas or b"")) for name, (ours, kafkas) in differing.items()}

    def forget(self, pair: LogPair) -> None:
        """Let a truncation take the time index's only entry, before Kafka has looked at it."""
        self.append(pair, 200, 300)
        pair.close()
        pair.open()
        pair.truncate_to(1, reminded=False)

    def test_kafka_has_no_entry_for_what_a_truncation_leaves(self, pair: LogPair) -> None:
        self.forget(pair)
        assert self.sizes(pair.leave()) == {self.TIME_INDEX: (12, 0)}

    def test_kafka_has_entries_that_are_too_early_after_a_truncation(self, pair: LogPair) -> None:
        self.forget(pair)
        self.append(pair, 120, 150, 160, 250, 300, 350)
        assert pair.log.offset_for_timestamp(155) == (200, 0, 0)
        assert pair.ask("offsetForTimestamp 155") == "160 3 0"
        assert self.sizes(pair.leave()) == {self.TIME_INDEX: (48, 60)}

    def test_kafka_cuts_an_index_that_exceeds_a_lowered_limit(self, pair: LogPair) -> None:
        self.append(pair, *range(6))
        pair.close()
        pair.options = pair.options | {"indexBytes": 48}
        assert pair.open_kafkas() == "ERR IllegalArgumentException newPosition > limit: (60 > 48)"
        pair.open()
        assert pair.log.offset_for_timestamp(5) == (5, 5, 0)
        assert pair.ask("offsetForTimestamp 5") == "none"
        assert self.sizes(pair.leave()) == {self.TIME_INDEX: (60, 48), self.OFFSET_INDEX: (40, 48)}

    def test_kafka_fails_in_an_append_that_overflows_an_index(self, pair: LogPair) -> None:
        batches = [encode_batch([Record.of(b"value", timestamp=at)], BatchTemplate(at, 0)) for at in range(10)]
        data = b"".join(batches)
        assert "Attempt to append to a full time index" in pair.ask(f"appendFollowerHex 0 {data.hex()}")
        pair.log.append_batches(data)
        pair.log.close()
        pair.log = Log.open(pair.ours_dir, pair.config, checkpoints=pair.left)
        assert pair.log.offset_for_timestamp(9) == (9, 9, 0)
        pair.log.close()
