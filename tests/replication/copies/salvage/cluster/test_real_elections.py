"""Histories that real brokers write, with unclean elections and producers that send again: all that was acknowledged is
in the topics once afterwards, in the order of its producer, and nothing that was aborted.

A history is a topic. What a client was told is kept beside, and is all that decides what has to be there.
"""

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from tests.campaign import Campaign
from tests.data.make_replicas import Story, wait_until
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.copies.salvage.cluster.target import Target

CAMPAIGN = Campaign("salvage: unclean elections of real brokers", full=100, share=5)
AT_ONCE = 25
"""Topics of one cluster's life."""
SECONDS = 60
SETTINGS = {"log.cleaner.backoff.ms": 500, "transaction.max.timeout.ms": 900_000}


@dataclass
class Told:
    """What its client was told of one producer's records."""

    acknowledged: list[bytes] = field(default_factory=list)
    """In the order of sending."""
    aborted: set[bytes] = field(default_factory=set)
    unknown: set[bytes] = field(default_factory=set)
    """Of transactions of which nobody was told how they end."""


class History:
    """One topic, and what is written to it before, beside and after the fork."""

    def __init__(self, rng: random.Random, topic: str, address: str) -> None:
        self.rng = rng
        self.topic = topic
        self.is_compacted = rng.random() < 0.3
        self.told: list[Told] = []
        self.shared: dict[str, bytes] = {}
        """What each side has written last of the key that both write."""
        self._address = address
        self._number = 0
        self._open: list[tuple[Producer, Told, list[bytes]]] = []
        self._retrying: tuple[Producer, Told] | None = None

    def settings(self) -> dict[str, object]:
        compaction = {"cleanup_policy": "compact", "segment_ms": 1_000, "min_cleanable_dirty_ratio": 0.01}
        return {"min_insync_replicas": 1, **(compaction if self.is_compacted else {})}

    def write(self, side: str, *, begins: bool = False) -> None:
        """Let some producers write; with `begins` some of their transactions stay open."""
        for _ in range(self.rng.randrange(1, 4)):
            if self.rng.random() < 0.5:
                self._plain()
            else:
                self._transaction(stays_open=begins and self.rng.random() < 0.5)
        if side != "common" and self.rng.random() < 0.5:
            value = f"{side} wrote the key".encode()
            told = self._told()
            self._send(self._producer(), told, value, b"shared")
            self.shared[side] = value

    def end_open_ones(self) -> None:
        """End transactions that began before; what fails is known to nobody."""
        for producer, told, values in self._open:
            self._end(producer, told, values)
        self._open.clear()

    def send_without_waiting(self) -> None:
        """Send what may be acknowledged by either side, or by both in turn."""
        producer, told = self._producer(), self._told()
        for _ in range(self.rng.randrange(1, 8)):
            value = self._value()
            producer.produce(self.topic, value, value, partition=0, on_delivery=_noting(told, value))
        producer.poll(self.rng.choice([0, 0.01, 0.1]))
        self._retrying = producer, told

    def wait_for_what_was_sent(self) -> None:
        if self._retrying:
            self._retrying[0].flush(SECONDS)

    def _plain(self) -> None:
        producer, told = self._producer(), self._told()
        for _ in range(self.rng.randrange(1, 15)):
            value = self._value()
            self._send(producer, told, value, value)
        assert producer.flush(SECONDS) == 0

    def _transaction(self, *, stays_open: bool) -> None:
        producer, told = self._producer(transactional_id=f"{self.topic}-{self._number}"), self._told()
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        values = [self._value() for _ in range(self.rng.randrange(1, 10))]
        for value in values:
            producer.produce(self.topic, value, value, partition=0)
        assert producer.flush(SECONDS) == 0
        if stays_open:
            self._open.append((producer, told, values))
        else:
            self._end(producer, told, values)

    def _end(self, producer: Producer, told: Told, values: list[bytes]) -> None:
        try:
            if self.rng.random() < 0.7:
                producer.commit_transaction(SECONDS)
                told.acknowledged += values
            else:
                producer.abort_transaction(SECONDS)
                told.aborted |= set(values)
        except KafkaException:
            told.unknown |= set(values)

    def _send(self, producer: Producer, told: Told, value: bytes, key: bytes) -> None:
        producer.produce(self.topic, value, key, partition=0, on_delivery=_noting(told, value))
        assert producer.flush(SECONDS) == 0

    def _producer(self, transactional_id: str | None = None) -> Producer:
        settings = {"bootstrap.servers": self._address, "enable.idempotence": True, "linger.ms": 5}
        return Producer(settings | ({"transactional.id": transactional_id} if transactional_id else {}))

    def _told(self) -> Told:
        self.told.append(Told())
        return self.told[-1]

    def _value(self) -> bytes:
        self._number += 1
        return f"{self.topic}:{self._number:04}".encode()


def _noting(told: Told, value: bytes) -> Callable[[KafkaError | None, Message], None]:
    def note(error: KafkaError | None, _: Message) -> None:
        if error is None:
            told.acknowledged.append(value)
        else:
            told.unknown.add(value)

    return note


class Life:
    """A cluster of three, of which the third only coordinates."""

    def __init__(self, cluster: KafkaCluster, directory: Path, rng: random.Random, count: int) -> None:
        self.cluster = cluster
        self.story = Story(cluster, 1)
        self.backup = directory / "backup" / "broker-1"
        self.histories = [History(rng, f"history-{number}", cluster.bootstrap()) for number in range(count)]

    def fork(self) -> None:
        """Kill 2, write on 1, kill 1, let 2 lead and write."""
        for each in self.histories:
            self.story.create(each.topic, [[1, 2]], **each.settings())
        for each in self.histories:
            self.story.wait_for_isr(each.topic, 2)
            each.write("common", begins=True)
        self.cluster.kill(2)
        for each in self.histories:
            self.story.wait_for_isr(each.topic, 1)
            each.write("losing", begins=True)
            each.end_open_ones()
        for each in self.histories:
            each.send_without_waiting()
        self.cluster.kill(1)
        shutil.copytree(self.cluster.log_dir(1), self.backup)
        self.cluster.start(2)
        wait_until(self._is_elected, "broker 2 leads all of them")
        for each in self.histories:
            each.wait_for_what_was_sent()
            each.write("kept")

    def _is_elected(self) -> bool:
        bootstrap = self.cluster.bootstrap(2, 3)
        epochlog("elect", "--bootstrap", bootstrap, "--election-type", "unclean", "--all-topic-partitions")
        topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=SECONDS).topics
        return all(topics[each.topic].partitions[0].leader == 2 for each in self.histories)

    def rescue(self, *options: object) -> Outcome:
        """End what hangs, and bring back what was lost."""
        bootstrap = self.cluster.bootstrap(2, 3)
        ended = epochlog(
            "transactions", "--bootstrap", bootstrap, "--abort", "--yes", "--max-transaction-timeout", 0, "--json"
        )
        assert ended.status == 0, ended.out + ended.err
        arguments = (self.backup, self.cluster.log_dir(2), "--kept", 2, "--produce", bootstrap, "--json", *options)
        outcome = epochlog("salvage", *arguments)
        assert outcome.status in {0, 1}, outcome.err
        return outcome


@pytest.fixture
def lives(tmp_path: Path, release: KafkaRelease) -> Iterator[Life]:
    def begin() -> Iterator[Life]:
        for first in range(0, CAMPAIGN.count, AT_ONCE):
            rng = random.Random(f"{CAMPAIGN.seed} {first}")
            directory = tmp_path / f"{first}"
            with KafkaCluster(directory / "cluster", release, brokers=3, settings=SETTINGS) as cluster:
                yield Life(cluster, directory, rng, min(AT_ONCE, CAMPAIGN.count - first))
            shutil.rmtree(directory)

    return begin()


def test_all_that_was_acknowledged_is_there_once_and_nothing_that_was_aborted(
    lives: Iterator[Life], release: KafkaRelease
) -> None:
    salvaged = 0
    for life in lives:
        life.fork()
        dry = life.rescue("--dry-run").document
        done = life.rescue().document
        assert (done["salvaged"], done["partitions"]) == (dry["salvaged"], dry["partitions"])
        again = life.rescue().document
        assert again["produced"]["written"] == 0
        salvaged += done["salvaged"]
        conflicts = {each["topic"]: len(each["conflicts"]) for each in done["partitions"]}
        for history in life.histories:
            see(history, Target(life.cluster.bootstrap(2, 3)).values(history.topic), conflicts.get(history.topic, 0))
    CAMPAIGN.report(CAMPAIGN.count, f"{salvaged:,} records salvaged", beside=release)


def see(history: History, values: list[bytes | None], conflicts: int) -> None:
    """Hold what a consumer of committed records gets against what the producers were told."""
    found = Counter(values)
    is_contested = {"losing", "kept"} <= history.shared.keys()
    assert conflicts == is_contested, history.topic
    left_out = {history.shared["losing"]} if is_contested else set()
    for told in history.told:
        expected = [value for value in told.acknowledged if value not in left_out]
        assert [found[value] for value in expected] == [1] * len(expected), (history.topic, history.is_compacted)
        assert [value for value in values if value in set(expected)] == expected, history.topic
        assert not any(found[value] for value in (*told.aborted, *left_out)), history.topic
        assert all(found[value] <= 1 for value in told.unknown), history.topic
