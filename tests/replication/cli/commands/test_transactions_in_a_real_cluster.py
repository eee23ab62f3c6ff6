"""Transactions through `epochlog broker` as a leader: Kafka's coordinator, and real producers of either protocol."""

import random
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import pytest
from confluent_kafka import ElectionType, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_producers import ActiveProducer, DescribeProducersRequest
from tests.logstore.batches import TRANSACTIONAL
from tests.oracle.cluster import CLUSTER_ID, KafkaCluster
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools
from tests.replication.cli.command import epochlog
from tests.replication.cli.settings.joining import SECONDS, joined, server_properties
from tests.replication.cluster.broker.authorization.random_questions import kio_request
from tests.replication.cluster.broker.member import SESSION_MS, controllers, create_topic
from tests.replication.cluster.broker.requests.writing.leading import one_batch
from tests.replication.waiting import wait_until

OURS, THEIRS = 9, 1
ORDERS, REFUNDS, PAYMENTS = LOGS = (
    TopicPartition("orders", 0),
    TopicPartition("refunds", 0),
    TopicPartition("payments", 0),
)
"""We lead the first two, and Kafka's broker the last."""
BOTH = (ORDERS, PAYMENTS)
"""One of either."""
TIMEOUT_MS = 120_000
PRODUCE = 0
LATE = sorted({*product((10, 11, 12), ("late", "other"), (-1, 0))} - {(12, "late", 0)})
"""Versions of Produce, transactional ids and how much later than its own a producer's epoch is; from version 12 on what
is left out begins a transaction.
"""


class Transactional(Protocol):
    """A producer."""

    def begin(self) -> None: ...
    def send(self, value: str, to: Sequence[TopicPartition]) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...


class JavaProducer:
    """Kafka's own: with transaction.version 2 it leaves it to leaders to add partitions."""

    def __init__(self, scene: "Scene", name: str) -> None:
        self._client = scene.client
        self._name = name
        self._ask(f"open {name} {TIMEOUT_MS}")

    def begin(self) -> None:
        self._ask(f"begin {self._name}")

    def send(self, value: str, to: Sequence[TopicPartition]) -> None:
        self._ask(f"send {self._name} {value} {' '.join(f'{each.topic}:{each.partition}' for each in to)}")

    def commit(self) -> None:
        self._ask(f"commit {self._name}")

    def abort(self) -> None:
        self._ask(f"abort {self._name}")

    def _ask(self, line: str) -> None:
        (answer,) = self._client.ask(line)
        assert not answer.startswith("ERR"), answer


class LibrdkafkaProducer:
    """librdkafka's, which has the coordinator add partitions whatever the cluster's transaction.version is."""

    def __init__(self, scene: "Scene", name: str) -> None:
        self._producer = Producer({"bootstrap.servers": scene.theirs, "transactional.id": name})
        self._producer.init_transactions(SECONDS)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, value: str, to: Sequence[TopicPartition]) -> None:
        for each in to:
            self._producer.produce(each.topic, value, partition=each.partition)
        assert self._producer.flush(SECONDS) == 0

    def commit(self) -> None:
        self._producer.commit_transaction(SECONDS)

    def abort(self) -> None:
        self._producer.abort_transaction(SECONDS)


class Scene:
    """Kafka's controller and broker and ours, and all that was committed."""

    def __init__(self, directory: Path, release: KafkaRelease, stack: ExitStack) -> None:
        times = {"broker.session.timeout.ms": SESSION_MS}
        self.cluster = stack.enter_context(KafkaCluster(directory / "theirs", release, controller_settings=times))
        self.theirs = self.cluster.bootstrap(THEIRS)
        self.tools = stack.enter_context(KafkaTools(release))
        self.client = stack.enter_context(JavaProgram(release, "TransactionClient", self.theirs))
        self.committed: dict[TopicPartition, list[str]] = defaultdict(list)
        self.admin = AdminClient({"bootstrap.servers": self.theirs})
        self._config = server_properties(directory, controllers(self.cluster))
        self._root = directory / f"ours-{OURS}"
        self._running = ExitStack()
        stack.callback(self._stop)
        assert epochlog("format", "--config", self._config, "--cluster-id", CLUSTER_ID).status == 0
        self._make_coordinator()
        self.start()
        for each in LOGS:
            create_topic(self.cluster, each.topic, [THEIRS, OURS] if each == PAYMENTS else [OURS, THEIRS])
            self.wait_for(each, THEIRS if each == PAYMENTS else OURS)

    def _make_coordinator(self) -> None:
        """Let the topic of transactions be made where no broker of ours is."""
        create_topic(self.cluster, "early", [THEIRS])
        early = JavaProducer(self, "early")
        early.begin()
        early.send("early", [TopicPartition("early", 0)])
        early.commit()

    def _stop(self) -> None:
        self._running.close()

    def start(self) -> None:
        self._running = ExitStack()
        self.process: subprocess.Popen[str]
        self.process, told = self._running.enter_context(joined(self._config))
        self.ours: str = told["bootstrap"]

    def end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        assert self.process.wait(SECONDS) == (0 if how is signal.SIGTERM else -how)
        self._running.close()

    def standing(self, of: TopicPartition) -> tuple[int, set[int]]:
        told = self.admin.list_topics(of.topic, timeout=SECONDS).topics[of.topic].partitions.get(of.partition)
        return (-1, set()) if told is None else (told.leader, set(told.isrs))

    def wait_for(self, of: TopicPartition, leader: int) -> None:
        wait_until(lambda: self.standing(of) == (leader, {OURS, THEIRS}))

    def lead_again(self) -> None:
        """Let our broker lead what it should once it is in sync."""
        for each in (ORDERS, REFUNDS):
            wait_until(lambda each=each: OURS in self.standing(each)[1])  # type: ignore[misc]
            if self.standing(each)[0] != OURS:
                self.admin.elect_leaders(ElectionType.PREFERRED, [each]).result(SECONDS)
            self.wait_for(each, OURS)

    def transact(self, producer: Transactional, name: str, count: int) -> None:
        """Do random transactions one after the other, of one or more sends each."""
        rng = random.Random(name)
        for number in range(count):
            producer.begin()
            values: dict[TopicPartition, list[str]] = defaultdict(list)
            for part in range(rng.randint(1, 3)):
                value, to = f"{name}-{number}-{part}", rng.sample(LOGS, rng.randint(1, 3))
                producer.send(value, to)
                for each in to:
                    values[each].append(value)
            if rng.random() < 0.3:
                producer.abort()
                continue
            producer.commit()
            self.note(values)

    def note(self, values: dict[TopicPartition, list[str]]) -> None:
        for each, said in values.items():
            self.committed[each] += said

    def read(self, each: TopicPartition) -> list[str]:
        (told,) = self.client.ask(f"read {self.theirs},{self.ours} {each.topic}:{each.partition}")
        assert not told.startswith("ERR"), told
        return told.split()

    def read_at_least(self, count: int, each: TopicPartition) -> list[str]:
        wait_until(lambda: len(self.read(each)) >= count)
        return self.read(each)

    def ensure_read(self) -> None:
        """What consumers of committed records get is all that was committed, and nothing else."""
        for each in LOGS:
            assert self.read_at_least(len(self.committed[each]), each) == self.committed[each]

    def transact_at_once(self, name: str, producers: int, transactions: int) -> None:
        """Do transactions of several producers at the same time, and note in which order they came to be."""
        where = " ".join(f"{each.topic}:{each.partition}" for each in LOGS)
        (told,) = self.client.ask(f"at once {name} {producers} {transactions} {where}")
        assert not told.startswith("ERR"), told
        values = told.split()
        for each in LOGS:
            known = len(self.committed[each])
            read = self.read_at_least(known + len(values), each)[known:]
            assert sorted(read, key=lambda value: value.split("-")[-3]) == values
            self.committed[each] += read

    def producers(self, of: TopicPartition = ORDERS) -> list[ActiveProducer]:
        """Those that the leader knows."""
        with Connection.open(self.theirs if of == PAYMENTS else self.ours) as connection:
            answer = connection.ask(DescribeProducersRequest(partitions=((of.topic, of.partition),)))  # type: ignore[arg-type]
        return [producer for told in answer.partitions.values() for producer in told.producers]

    def tool(self, name: str, *arguments: str) -> str:
        """What a tool prints that asks our broker first."""
        printed = self.tools.run(name, "--bootstrap-server", self.ours, *arguments)
        assert printed.status == 0, printed
        return printed.out

    def log(self, of: TopicPartition, broker: int) -> bytes:
        root = self._root if broker == OURS else self.cluster.log_dir(THEIRS)
        return b"".join(path.read_bytes() for path in sorted((root / f"{of.topic}-{of.partition}").glob("*.log")))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Scene]:
    with ExitStack() as stack:
        yield Scene(tmp_path_factory.mktemp("transactions"), release, stack)


@pytest.mark.parametrize("kind", [JavaProducer, LibrdkafkaProducer])
def test_consumers_get_what_was_committed(scene: Scene, kind: type[JavaProducer | LibrdkafkaProducer]) -> None:
    before = {producer.producer_id for producer in scene.producers()}
    scene.transact(kind(scene, kind.__name__), kind.__name__, 30)
    scene.ensure_read()
    (producer,) = [each for each in scene.producers() if each.producer_id not in before]
    # Each transaction has an epoch of its own where leaders add the partitions.
    assert (producer.producer_epoch >= 15) is (kind is JavaProducer)


def test_producers_at_once_do_not_hinder_each_other(scene: Scene) -> None:
    scene.transact_at_once("busy", 6, 20)
    scene.ensure_read()


@pytest.mark.parametrize(("version", "transactional_id", "epoch"), LATE)
def test_a_batch_of_no_transaction_is_refused_as_by_kafkas_leader(
    scene: Scene, late: dict[TopicPartition, ActiveProducer], version: int, transactional_id: str, epoch: int
) -> None:
    told = [refusal(scene, late[each], each, version, transactional_id, epoch) for each in BOTH]
    assert told[0] == told[1]
    assert told[0] != ErrorCode.NONE
    scene.ensure_read()


@pytest.fixture(scope="module")
def late(scene: Scene) -> dict[TopicPartition, ActiveProducer]:
    """A producer whose transaction has ended, as the leaders of two partitions know it."""
    before = {producer.producer_id for producer in scene.producers(ORDERS)}
    LibrdkafkaProducer(scene, "late")
    producer = LibrdkafkaProducer(scene, "late")  # in epoch 1
    producer.begin()
    producer.send("late", BOTH)
    producer.commit()
    scene.note({each: ["late"] for each in BOTH})
    scene.ensure_read()
    (producer_id,) = {each.producer_id for each in scene.producers(ORDERS)} - before
    return {of: next(each for each in scene.producers(of) if each.producer_id == producer_id) for of in BOTH}


def refusal(
    scene: Scene, producer: ActiveProducer, of: TopicPartition, version: int, transactional_id: str, epoch: int
) -> ErrorCode:
    """Send one more batch of a producer; return what its leader says of it."""
    header = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch + epoch}
    data = one_batch(**header, base_sequence=producer.last_sequence + 1, attributes=TRANSACTIONAL)
    partitions = [{"index": of.partition, "records": data}]
    asked = {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout": timedelta(seconds=SECONDS),
        "topic_data": [{"name": of.topic, "partition_data": partitions}],
    }
    with Connection.open(scene.theirs if of == PAYMENTS else scene.ours) as connection:
        answer: Any = connection.ask(kio_request(PRODUCE, version, asked))
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def test_kafkas_tool_shows_a_transaction_that_is_open_and_finds_none_that_hangs(scene: Scene) -> None:
    producer = JavaProducer(scene, "open")
    producer.begin()
    producer.send("open", [ORDERS])
    assert "Ongoing" in next(line for line in scene.tool("kafka-transactions", "list").splitlines() if "open" in line)
    assert "orders-0" in scene.tool("kafka-transactions", "describe", "--transactional-id", "open")
    where = ("--topic", "orders", "--partition", "0")
    described = scene.tool("kafka-transactions", "describe-producers", *where).splitlines()[1:]
    assert sum("None" not in line for line in described) == 1
    hanging = ("find-hanging", "--broker-id", str(OURS), "--max-transaction-timeout", "0")
    assert len(scene.tool("kafka-transactions", *hanging).splitlines()) == 1  # the title
    producer.abort()
    scene.ensure_read()


def test_a_producer_whose_successor_has_begun_writes_nothing_more(scene: Scene) -> None:
    first = JavaProducer(scene, "twice")
    first.begin()
    first.send("first", [ORDERS])
    second = LibrdkafkaProducer(scene, "twice")
    with pytest.raises(AssertionError, match=r"ProducerFenced|InvalidProducerEpoch"):
        first.send("late", [ORDERS])
    scene.transact(second, "second", 2)
    scene.ensure_read()


@pytest.mark.parametrize("kind", [JavaProducer, LibrdkafkaProducer])
def test_a_leader_that_is_killed_inside_a_transaction_ends_neither_it_nor_any_other(
    scene: Scene, kind: type[JavaProducer | LibrdkafkaProducer]
) -> None:
    committed, aborted = kind(scene, f"{kind.__name__}-committed"), kind(scene, f"{kind.__name__}-aborted")
    name = f"{kind.__name__}-killed"
    for producer in (committed, aborted):
        producer.begin()
        producer.send(f"{name}-before", LOGS)
    scene.end(signal.SIGKILL)
    for producer in (committed, aborted):
        producer.send(f"{name}-after", LOGS)
    committed.commit()
    aborted.abort()
    scene.note({each: [f"{name}-before", f"{name}-after"] for each in LOGS})
    scene.ensure_read()
    scene.start()
    scene.lead_again()
    scene.ensure_read()
    scene.transact(committed, f"{name}-again", 3)
    scene.ensure_read()


def test_partitions_are_looked_up_where_the_cluster_has_transaction_version_1(scene: Scene) -> None:
    scene.tool("kafka-features", "downgrade", "--feature", "transaction.version=1")
    wait_until(lambda: "FinalizedVersionLevel: 1" in version_of_transactions(scene))
    before = {producer.producer_id for producer in scene.producers()}
    scene.transact(JavaProducer(scene, "version-1"), "version-1", 30)
    scene.ensure_read()
    (producer,) = [each for each in scene.producers() if each.producer_id not in before]
    assert producer.producer_epoch == 0


def version_of_transactions(scene: Scene) -> str:
    return next(line for line in scene.tool("kafka-features", "describe").splitlines() if "transaction.version" in line)


def test_all_replicas_are_the_same_byte_for_byte_in_the_end(scene: Scene) -> None:
    scene.end(signal.SIGTERM)
    for each in LOGS:
        ours, theirs = (scene.log(each, broker).rstrip(b"\0") for broker in (OURS, THEIRS))
        assert ours
        assert ours == theirs
