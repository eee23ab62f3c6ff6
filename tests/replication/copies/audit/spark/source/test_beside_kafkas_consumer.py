"""The tables of a real broker's logs hold what Kafka's own consumer is given, whatever is asked for."""

import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.campaign import Campaign
from tests.oracle.broker import Broker
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools
from tests.replication.cluster.serving.clients import Seen
from tests.replication.cluster.serving.java_tools import console_consumer
from tests.replication.copies.audit.spark.source.planned import Planned, Row

TOPIC, PARTITIONS, SECONDS = "orders", 2, 60
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
THEN = 1_700_000_000_000
CAMPAIGN = Campaign("spark: tables beside Kafka's own consumer", full=10_000, share=150)
Holds = Callable[[int, Seen], bool]


class Consumed(NamedTuple):
    """A broker's log directory, and what its consumers were given, by isolation."""

    root: Path
    seen: dict[bool, dict[int, list[Seen]]]

    def chosen(self, committed: bool, holds: Holds) -> list[tuple[int, Seen]]:
        return [
            (partition, each)
            for partition, records in self.seen[committed].items()
            for each in records
            if holds(partition, each)
        ]


class Writer:
    """Producers of every codec, with transactions and without, that write to all partitions in random order."""

    def __init__(self, address: str, chance: random.Random) -> None:
        self._chance, self._numbers = chance, count()
        self._plain = [self._producer(address, codec) for codec in CODECS]
        self._transactional = [
            self._producer(address, codec, {"transactional.id": f"of-{codec}"}) for codec in ("none", "zstd")
        ]
        for producer in self._transactional:
            producer.init_transactions(SECONDS)

    @staticmethod
    def _producer(address: str, codec: str, more: dict[str, Any] | None = None) -> Producer:
        return Producer({"bootstrap.servers": address, "compression.type": codec, "linger.ms": 20, **(more or {})})

    def write(self, rounds: int) -> int:
        """Write, commit and abort, and return how many records; in the end a transaction is open, with more behind."""
        for _ in range(rounds):
            if self._chance.random() < 0.5:
                self._send(self._chance.choice(self._plain))
                continue
            for producer in self._transactional:
                producer.begin_transaction()
                self._send(producer)
            self._send(self._chance.choice(self._plain))
            for producer in self._transactional:
                end = producer.commit_transaction if self._chance.random() < 0.6 else producer.abort_transaction
                end(SECONDS)
        self._transactional[0].begin_transaction()
        self._send(self._transactional[0])
        self._send(self._plain[0])
        return next(self._numbers)

    def _send(self, producer: Producer) -> None:
        for _ in range(self._chance.randint(1, 12)):
            producer.produce(
                TOPIC,
                f"value-{next(self._numbers)}",
                f"key-{self._chance.randrange(5)}",
                partition=self._chance.randrange(PARTITIONS),
                timestamp=THEN + self._chance.randrange(1_000),
            )
        assert producer.flush(SECONDS) == 0


@pytest.fixture(scope="module")
def consumed(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Consumed:
    with Broker(tmp_path_factory.mktemp("broker"), release) as broker:
        admin = AdminClient({"bootstrap.servers": broker.address})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(SECONDS)
        written = Writer(broker.address, random.Random(CAMPAIGN.seed)).write(25)
        with KafkaTools(release) as tools:
            every = console_consumer(tools, broker.address, TOPIC, False, written)
        with JavaProgram(release, "TransactionClient", broker.address) as client:
            told = client.ask(*(f"read {broker.address} {TOPIC}:{number}" for number in range(PARTITIONS)))
    committed = {number: answer.split() for number, answer in enumerate(told)}
    read = {
        number: [each for each in every[number] if each.value.decode() in set(values)]
        for number, values in committed.items()
    }
    assert {number: [each.value.decode() for each in records] for number, records in read.items()} == committed
    return Consumed(broker.root, {True: read, False: every})


class RandomCondition:
    """Options, and for which of a consumer's records they ask."""

    def __init__(self, chance: random.Random, seen: dict[int, list[Seen]]) -> None:
        self.options: dict[str, str] = {"taskBytes": str(chance.choice([300, 5_000, 1 << 30]))}
        self._holding: list[Holds] = []
        self._chance = chance
        partition = chance.randrange(PARTITIONS)
        record = chance.choice(seen[partition])
        for bound in chance.sample([self._partition, self._offsets, self._times, self._where], chance.randint(0, 3)):
            bound(partition, record)

    def holds(self, partition: int, record: Seen) -> bool:
        return all(each(partition, record) for each in self._holding)

    def _partition(self, partition: int, _record: Seen) -> None:
        self.options["partitions"] = f"{TOPIC}-{partition}"
        self._holding.append(lambda number, _: number == partition)

    def _offsets(self, _partition: int, record: Seen) -> None:
        first, after = record.offset, record.offset + self._chance.choice([1, 7, 10**9])
        self.options |= {"startingOffsets": str(first), "endingOffsets": str(after)}
        self._holding.append(lambda _, each: first <= each.offset < after)

    def _times(self, _partition: int, record: Seen) -> None:
        first, after = record.timestamp, record.timestamp + self._chance.choice([1, 100, 10**9])
        if self._chance.random() < 0.7:
            self.options["startingTimestamp"] = str(first)
            self._holding.append(lambda _, each: each.timestamp >= first)
        if self._chance.random() < 0.7:
            self.options["endingTimestamp"] = str(after)
            self._holding.append(lambda _, each: each.timestamp < after)

    def _where(self, partition: int, record: Seen) -> None:
        where, holds = self._chance.choice(
            [
                (f"offset <= {record.offset}", lambda _, each: each.offset <= record.offset),
                (f"partition != {partition}", lambda number, _: number != partition),
                (
                    f"offset IN ({record.offset}, 3) OR partition = {partition}",
                    lambda number, each: each.offset in {record.offset, 3} or number == partition,
                ),
            ]
        )
        self.options["where"] = where
        self._holding.append(holds)


def test_tables_hold_what_kafkas_consumer_is_given(consumed: Consumed, release: KafkaRelease) -> None:
    assert len(consumed.chosen(False, lambda *_: True)) > len(consumed.chosen(True, lambda *_: True)) > 0
    rows = 0
    for number in range(CAMPAIGN.count):
        chance = random.Random(CAMPAIGN.seed * 100_000 + number)
        kind, committed = chance.choice(["records", "batches"]), chance.random() < 0.5
        condition = RandomCondition(chance, consumed.seen[False])
        options = {**condition.options, "topics": TOPIC, **({"isolation": "read_committed"} if committed else {})}
        if kind == "records":
            options["mode"], options["failOnDataLoss"] = "FAILFAST", chance.choice(["true", "false"])
        table = [row for row in Planned(consumed.root, **options, rows=kind).rows() if not row["is_control"]]
        wanted = consumed.chosen(committed, condition.holds)
        check = assert_records if kind == "records" else assert_batches
        check(table, wanted, consumed.seen[committed], f"seed {number}: {kind} {options}")
        rows += len(table)
    CAMPAIGN.report(CAMPAIGN.count, f"{rows:,} rows compared", beside=release)


def assert_records(table: list[Row], wanted: list[tuple[int, Seen]], _seen: dict[int, list[Seen]], where: str) -> None:
    found = [(row["partition"], row["offset"], row["timestamp_ms"], row["key"], row["value"]) for row in table]
    assert sorted(found) == [(number, *each[:4]) for number, each in sorted(wanted)], where


def assert_batches(table: list[Row], wanted: list[tuple[int, Seen]], seen: dict[int, list[Seen]], where: str) -> None:
    """Batches are those with a record that is asked for, and have as many as the consumer was given of them."""
    asked = {(number, each.offset) for number, each in wanted}
    covered = set()
    for row in table:
        offsets = range(row["base_offset"], row["last_offset"] + 1)
        given = [each.offset for each in seen[row["partition"]] if each.offset in offsets]
        assert row["record_count"] == len(given), where
        assert any((row["partition"], offset) in asked for offset in given), f"{where}: {row}"
        covered |= {(row["partition"], offset) for offset in given}
    assert asked <= covered, where
