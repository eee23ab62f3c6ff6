"""On a real broker: transactions that hang are found, as Kafka's own tool finds them, and ended; no other is."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from logstore import BatchTemplate, LogDirectory, Record, TopicPartition
from replication.transactions import find_hanging
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.client.connection import Connection
from replication.wire.messages.describe_transactions import DescribeTransactionsRequest
from tests.oracle.broker import Broker, java
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import Outcome, epochlog

ORDERS = TopicPartition("orders", 0)
LOST_END, FORGOTTEN, YOUNG = "lost-end", "forgotten", "young"
SECONDS = 60
OLD = ("--max-transaction-timeout", "15")


class Scene:
    """A broker whose log has lost the ends of transactions, and a producer that is in the middle of one."""

    def __init__(self, directory: Path, release: KafkaRelease) -> None:
        self.broker = Broker(directory, release)
        with self.broker:
            admin = AdminClient({"bootstrap.servers": self.broker.address})
            admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(SECONDS)
            ended = self.producer("ended")
            ended.begin_transaction()
            ended.produce("orders", b"ended", partition=0)
            ended.commit_transaction(SECONDS)
            self._until_complete("ended")
            del ended, admin
        self.first_offsets = self._lose_ends()
        self.broker.__enter__()
        self.ongoing = self.producer("ongoing")
        self.ongoing.begin_transaction()
        self.ongoing.produce("orders", b"ongoing", partition=0)
        assert self.ongoing.flush(SECONDS) == 0

    def producer(self, transactional_id: str) -> Producer:
        producer = Producer({"bootstrap.servers": self.broker.address, "transactional.id": transactional_id})
        producer.init_transactions(SECONDS)
        return producer

    def _until_complete(self, transactional_id: str) -> None:
        """Wait until the coordinator has written down the end, or it would write the markers again after a restart."""
        asked = DescribeTransactionsRequest(transactional_ids=(transactional_id,))
        deadline = time.monotonic() + SECONDS
        with Connection.open(self.broker.address) as connection:
            while [each.state for each in connection.ask(asked).transactions] != ["CompleteCommit"]:
                assert time.monotonic() < deadline

    def _lose_ends(self) -> dict[str, int]:
        """Write what is left of transactions whose markers an election has cut off; return where they begin."""
        now = int(time.time() * 1000)
        with LogDirectory.open(self.broker.root) as directory:
            log = directory.log(ORDERS)
            epoch = log.epochs.latest_epoch
            known = max(log.records(0), key=lambda record: record.offset)
            [producer] = {batch.producer_id for batch in log.read(0, 1 << 20).batches() if batch.producer_id >= 0}
            last = max(batch.producer_epoch for batch in log.read(0, 1 << 20).batches())
            assert known.offset < log.log_end_offset
            whose = {
                LOST_END: (producer, last + 1, now),
                FORGOTTEN: (7_000, 0, now - 3_600_000),
                YOUNG: (7_001, 0, now),
            }
            return {
                name: log.append(
                    [Record(-1, timestamp, None, name.encode())],
                    leader_epoch=epoch,
                    template=BatchTemplate(
                        producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=0, is_transactional=True
                    ),
                ).first_offset
                for name, (producer_id, producer_epoch, timestamp) in whose.items()
            }

    def find(self, *options: str) -> Outcome:
        return epochlog("transactions", "--bootstrap", self.broker.address, *options)

    def open_transactions(self) -> dict[int, str]:
        """By their first offsets, what is judged of them."""
        document: dict[str, Any] = self.find("--json").document
        return {each["first_offset"]: each["verdict"] for each in document["transactions"]}

    def kafkas_tool(self) -> str:
        command = [*java(self.broker.release), "org.apache.kafka.tools.TransactionsCommand"]
        options = ["--bootstrap-server", self.broker.address, "find-hanging", "--topic", "orders", "--partition", "0"]
        return subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout

    def committed(self, count: int) -> list[bytes]:
        """What a consumer of committed records gets until there are so many, or nothing more comes."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.broker.address,
                "group.id": f"g{time.monotonic_ns()}",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe(["orders"])
        found: list[bytes] = []
        deadline = time.monotonic() + SECONDS
        while len(found) < count and time.monotonic() < deadline:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                found.append(message.value() or b"")
        consumer.close()
        return found


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Scene]:
    made = Scene(tmp_path_factory.mktemp("hanging"), release)
    try:
        yield made
    finally:
        made.broker.__exit__(None, None, None)


def test_each_open_transaction_is_judged_by_what_its_coordinator_knows(scene: Scene) -> None:
    first = scene.first_offsets
    begun = max(scene.open_transactions())
    assert scene.open_transactions() == {
        first[LOST_END]: "hanging",
        first[FORGOTTEN]: "unproven",
        first[YOUNG]: "unproven",
        begun: "ongoing",
    }
    outcome = scene.find(*OLD)
    assert outcome.status == 1
    assert "2 open transactions that nobody will end:" in outcome.out
    commands = [line.strip() for line in outcome.out.splitlines() if "kafka-transactions.sh" in line]
    assert [line.rpartition(" ")[2] for line in commands] == [str(first[LOST_END]), str(first[FORGOTTEN])]


def test_kafkas_own_tool_finds_those_that_are_old_enough_for_it(scene: Scene) -> None:
    lines = [line.split() for line in scene.kafkas_tool().splitlines() if line.startswith("orders")]
    with ClusterClient(scene.broker.address) as client:
        hanging = [
            each.transaction
            for each in find_hanging(client, max_transaction_timeout_ms=900_000).hanging
            if each.transaction.last_timestamp < time.time() * 1000 - 900_000
        ]
    assert [line[2] for line in lines] == [str(each.producer_id) for each in hanging] == ["7000"]


def test_a_dry_run_changes_nothing_and_the_run_ends_those_that_hang_alone(scene: Scene) -> None:
    before = scene.open_transactions()
    dry = scene.find("--abort", "--dry-run", *OLD)
    assert dry.status == 1
    assert scene.open_transactions() == before
    assert scene.committed(1) == [b"ended"]
    refused = scene.find("--abort", *OLD)
    assert (refused.status, "add --yes" in refused.err) == (2, True)
    assert scene.open_transactions() == before
    done = scene.find("--abort", "--yes", *OLD)
    assert done.status == 1, done.err  # two are left
    assert done.out.count("Aborted: orders-0: the transaction of producer") == 2
    assert sorted(scene.open_transactions().values()) == ["ongoing", "unproven"]
    later = scene.find("--abort", "--yes", "--max-transaction-timeout", "0", "--json")
    assert [each["first_offset"] for each in later.document["ended"]] == [scene.first_offsets[YOUNG]]
    scene.ongoing.commit_transaction(SECONDS)
    assert scene.committed(2) == [b"ended", b"ongoing"]
    nothing = scene.find()
    assert (nothing.status, nothing.out) == (0, "No open transaction.\n")
    assert "7000" not in scene.kafkas_tool()
