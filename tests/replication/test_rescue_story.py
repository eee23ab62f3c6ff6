"""The whole of docs/rescue.md on a real cluster: from dead brokers to records that are back.

Broker 2 is behind when broker 1 dies, and is elected all the same. What it lacks is lost: the end of a transaction, and
records that were acknowledged. Then each step of the page, by the commands that it names.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import AdminClient

from tests.data.make_replicas import Story, wait_until
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.told_partition import told_partition

TOPIC = "payments"
SECONDS = 60
SETTINGS = {"min.insync.replicas": 1, "unclean.leader.election.enable": "false"}


class Rescue:
    """What was written, and where the copies are."""

    def __init__(self, cluster: KafkaCluster, directory: Path) -> None:
        self.cluster = cluster
        self.story = Story(cluster, 1)
        self.backup = directory / "backup"
        self.page = directory / "audit.html"

    def lose(self) -> None:
        """Let broker 1 take more than broker 2 has, and die."""
        self.story.create(TOPIC, [[1, 2]])
        self.story.wait_for_isr(TOPIC, 2)
        self.write("base", 30)
        self.paying = Producer(self.client | {"transactional.id": "paying"})
        self.paying.init_transactions(SECONDS)
        self.paying.begin_transaction()
        for number in range(5):
            self.paying.produce(TOPIC, b"paid-%d" % number, b"paid-%d" % number, partition=0)
        assert self.paying.flush(SECONDS) == 0
        self.cluster.kill(2)
        self.story.wait_for_isr(TOPIC, 1)
        self.paying.commit_transaction(SECONDS)
        self.write("lost", 20)
        self.write("both", 1, "of broker 1")
        self.cluster.kill(1)

    def write(self, tag: str, count: int, value: str = "") -> None:
        """Write records with a key each, acknowledged by all that are in sync."""
        producer = Producer(self.client | {"enable.idempotence": True})
        for number in range(count):
            key = f"{tag}-{number}".encode()
            producer.produce(TOPIC, value.encode() or key, key, partition=0)
        assert producer.flush(SECONDS) == 0

    @property
    def client(self) -> dict[str, object]:
        return {"bootstrap.servers": self.cluster.bootstrap()}

    def leader(self) -> int:
        """Who leads, as the running brokers know; -1 where nobody does."""
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap(2, 3)})
        return int(told_partition(admin, TOPIC).leader)

    @property
    def copies(self) -> list[Path]:
        """What is left of broker 1, and broker 2 as it is."""
        return [self.backup / "broker-1", self.cluster.log_dir(2)]

    def salvage(self, *options: object) -> Outcome:
        arguments = ("--kept", 2, "--topics", TOPIC, "--produce", self.cluster.bootstrap(2, 3))
        return epochlog("salvage", *self.copies, *arguments, *options)

    def committed(self) -> list[tuple[str, str]]:
        """What a consumer of committed records gets, up to where it has to stop."""
        consumer = Consumer(
            self.client
            | {"group.id": "reader", "isolation.level": "read_committed", "enable.partition.eof": True}
            | {"enable.auto.commit": False}
        )
        consumer.assign([ClientTopicPartition(TOPIC, 0, 0)])
        found: list[tuple[str, str]] = []
        try:
            while True:
                message = consumer.poll(SECONDS)
                assert message is not None
                error = message.error()
                if error is not None:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    return found
                found.append(((message.key() or b"").decode(), (message.value() or b"").decode()))
        finally:
            consumer.close()


@pytest.fixture
def rescue(tmp_path: Path, release: KafkaRelease) -> Iterator[Rescue]:
    with KafkaCluster(tmp_path / "cluster", release, brokers=3, settings=SETTINGS) as cluster:
        yield Rescue(cluster, tmp_path)


def keys(tag: str, count: int) -> list[str]:
    return [f"{tag}-{number}" for number in range(count)]


def test_what_an_unclean_election_cut_off_is_back_in_the_topic(rescue: Rescue) -> None:
    cluster = rescue.cluster
    rescue.lose()

    # 1. Copy the directories of all brokers before any of them starts.
    shutil.copytree(cluster.log_dir(1), rescue.backup / "broker-1")
    shutil.copytree(cluster.log_dir(2), rescue.backup / "broker-2")

    # 2. See what is at stake.
    dead = [rescue.backup / "broker-1", rescue.backup / "broker-2"]
    incident = epochlog("incident", *dead, "--json").document
    [stake] = [each for each in incident["partitions"] if each["topic"] == TOPIC]
    assert (stake["verdict"], stake["records"], stake["control_records"]) == ("lagging", 21, 1)
    assert stake["least_loss"] == "broker-1"
    assert epochlog("audit", *dead, "--engine", "local", "--report", rescue.page).status == 1
    assert TOPIC in rescue.page.read_text()

    # 3. Broker 1 does not come back: elect broker 2, and let the cluster run.
    cluster.start(2)
    bootstrap = cluster.bootstrap(2, 3)
    elect = ("elect", "--bootstrap", bootstrap, "--election-type", "unclean", "--topic", TOPIC, "--partition", 0)
    # It answers that none is needed as long as the controller counts on broker 1.
    wait_until(lambda: epochlog(*elect).status == 0 and rescue.leader() == 2, "broker 2 is elected")
    rescue.write("both", 1, "of broker 2")
    rescue.write("since", 10)
    assert [key for key, _ in rescue.committed()] == keys("base", 30)

    # End the transaction whose marker was cut off: it holds back all readers of committed records.
    broken = epochlog("transactions", *rescue.copies, "--kept", 2, "--topics", TOPIC, "--json").document
    assert [each["kind"] for each in broken["transactions"]] == ["end-cut-off"]
    hanging = epochlog("transactions", "--bootstrap", bootstrap, "--topics", TOPIC, "--json").document
    [transaction] = hanging["transactions"]
    assert (transaction["verdict"], transaction["transactional_id"]) == ("hanging", "paying")
    ended = epochlog("transactions", "--bootstrap", bootstrap, "--topics", TOPIC, "--abort", "--yes")
    assert ended.status == 0, ended.err
    assert [key for key, _ in rescue.committed()] == [*keys("base", 30), "both-0", *keys("since", 10)]

    # 4. Look first. Of the key that both sides wrote somebody has to decide.
    dry = rescue.salvage("--dry-run", "--json")
    assert dry.status == 1
    assert dry.document["salvaged"] == 25
    [partition] = dry.document["partitions"]
    assert [conflict["other"]["offset"] for conflict in partition["conflicts"]]

    # 5. Bring them back, each record once, however often this is run.
    done = rescue.salvage("--json")
    assert (done.status, done.document["salvaged"]) == (1, 25)
    expected = [*keys("base", 30), "both-0", *keys("since", 10), *keys("paid", 5), *keys("lost", 20)]
    assert [key for key, _ in rescue.committed()] == expected
    rescue.salvage()
    assert [key for key, _ in rescue.committed()] == expected
    assert dict(rescue.committed())["both-0"] == "of broker 2"

    # Broker 1 comes back, follows, and has what the others have.
    cluster.start(1)
    rescue.story.wait_for_isr(TOPIC, 2)
    for broker in (1, 2, 3):
        cluster.stop(broker)
    again = epochlog("audit", cluster.log_dir(1), cluster.log_dir(2), "--engine", "local", "--topics", TOPIC, "--json")
    assert again.status == 0, again.out + again.err
