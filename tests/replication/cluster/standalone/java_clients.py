"""Kafka's command-line tools at work on a broker of ours: what each of them has to bring about."""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import confluent_kafka as ck

from logstore import TopicPartition
from replication.cluster.standalone.standalone_broker import StandaloneBroker
from tests.oracle.tools import KafkaTools
from tests.replication.cluster.serving.clients import SECONDS
from tests.replication.cluster.serving.java_tools import as_printed, console_consumer, run_tool
from tests.replication.cluster.standalone import clients
from tests.replication.cluster.standalone.writers import CODECS

LATEST: Final = -1
PERF_COUNT: Final = 5_000


class Tools:
    """Tools, and the broker that they are run on."""

    def __init__(self, broker: StandaloneBroker, tools: KafkaTools, directory: Path, seed: int) -> None:
        """Let them keep files of their own in a directory."""
        self.broker = broker
        self.tools = tools
        self.directory = directory
        self.rng = random.Random(seed)
        self.bootstrap = str(broker.local.address)

    def run(self, tool: str, *arguments: object, typed: str = "") -> str:
        """Run one, and return what it prints."""
        return run_tool(self.tools, tool, "--bootstrap-server", self.bootstrap, *arguments, typed=typed)

    def run_until(self, told: str, tool: str, *arguments: object, is_told: bool = True) -> str:
        """Run one until it tells that, or does not: a broker hears a little later of what has been decided."""
        deadline = time.monotonic() + SECONDS
        while (told in (printed := self.run(tool, *arguments))) != is_told:
            assert time.monotonic() < deadline, printed
        return printed

    def produce(self, topic: str, count: int) -> None:
        """Write short records to a topic."""
        assert not clients.produce(self.bootstrap, topic, [b"%d" % number for number in range(count)])

    def has_idempotent(self, partition: TopicPartition) -> bool:
        """Return whether an idempotent producer has written to a partition."""
        return bool(self.broker.local.replicas.hosted[partition].log.producers)

    def end(self, partition: TopicPartition) -> int:
        """Return the log end offset of a partition."""
        return self.broker.local.replicas.hosted[partition].log.log_end_offset


def console(tools: Tools) -> None:
    """The console's consumer prints what the console's producer was told, in each codec."""
    codec = tools.rng.choice(CODECS)
    partition = TopicPartition(f"console-{codec}", 0)
    lines = [f"name:{number},more:x\tkey {number}\tvalue {number} {'text ' * number}" for number in range(30)]
    tools.run(
        "kafka-console-producer",
        *("--topic", partition.topic, "--compression-codec", codec, "--reader-property", "parse.key=true"),
        *("--reader-property", "parse.headers=true"),
        typed="\n".join(lines) + "\n",
    )
    printed = console_consumer(tools.tools, tools.bootstrap, partition.topic, True, len(lines))[0]
    log = tools.broker.local.replicas.hosted[partition].log
    assert [each.value for each in log.records()] == [line.split("\t")[2].encode() for line in lines]
    assert [f"{name}:{value.decode()}" for name, value in printed[7].headers if value] == ["name:7", "more:x"]
    assert tools.has_idempotent(partition)
    assert printed == [as_printed(each) for each in clients.seen(log)]


def performance(tools: Tools) -> None:
    """kafka-consumer-perf-test reads as many records as kafka-producer-perf-test has written."""
    codec = tools.rng.choice(CODECS)
    topic = f"performance-{codec}"
    sent = tools.run(
        "kafka-producer-perf-test",
        *("--topic", topic, "--num-records", PERF_COUNT, "--record-size", 200, "--throughput", -1),
        *("--command-property", f"compression.type={codec}"),
    )
    assert sent.startswith(f"{PERF_COUNT} records sent")
    assert tools.end(TopicPartition(topic, 0)) == PERF_COUNT
    assert tools.has_idempotent(TopicPartition(topic, 0))
    read = tools.run("kafka-consumer-perf-test", "--topic", topic, "--num-records", PERF_COUNT)
    assert int(read.splitlines()[1].split(",")[4]) == PERF_COUNT


def topics(tools: Tools) -> None:
    """kafka-topics makes a topic, describes it, gives it more partitions and deletes it."""
    tools.run(
        "kafka-topics",
        *("--create", "--topic", "made", "--partitions", 2, "--config", "retention.ms=3600000"),
    )
    tools.run_until("made", "kafka-topics", "--list")
    tools.run("kafka-topics", "--alter", "--topic", "made", "--partitions", 5)
    told = tools.run_until("PartitionCount: 5", "kafka-topics", "--describe", "--topic", "made")
    assert "retention.ms=3600000" in told
    assert "Partition: 4\tLeader: 1\tReplicas: 1\tIsr: 1" in told
    tools.run("kafka-topics", "--delete", "--topic", "made")
    tools.run_until("made", "kafka-topics", "--list", is_told=False)


def configs(tools: Tools) -> None:
    """kafka-configs sets what a topic keeps, and what has been set counts."""
    tools.produce("set", 3)
    named = ("--entity-type", "topics", "--entity-name", "set")
    tools.run("kafka-configs", "--alter", *named, "--add-config", "max.message.bytes=1000,retention.ms=-1")
    told = tools.run_until("max.message.bytes=1000 ", "kafka-configs", "--describe", *named)
    assert "retention.ms=-1 " in told
    (error,) = clients.produce(tools.bootstrap, "set", [bytes(2_000)])
    assert "MSG_SIZE_TOO_LARGE" in error
    tools.run("kafka-configs", "--alter", *named, "--delete-config", "max.message.bytes")
    tools.run_until("max.message.bytes=1048588", "kafka-configs", "--describe", "--all", *named)
    assert clients.produce(tools.bootstrap, "set", [bytes(2_000)]) == []


def offsets(tools: Tools) -> None:
    """kafka-get-offsets prints where a log ends."""
    tools.produce("ending", 17)
    assert tools.run("kafka-get-offsets", "--topic", "ending", "--time", LATEST).split() == ["ending:0:17"]


def delete_records(tools: Tools) -> None:
    """kafka-delete-records deletes all before an offset."""
    tools.produce("shortened", 20)
    asked = tools.directory / "delete.json"
    asked.write_text(json.dumps({"partitions": [{"topic": "shortened", "partition": 0, "offset": 12}], "version": 1}))
    assert "low_watermark: 12" in tools.run("kafka-delete-records", "--offset-json-file", asked)
    left = clients.read(tools.bootstrap, "shortened", **{"auto.offset.reset": "earliest"})
    assert [each.offset for each in left] == list(range(12, 20))


def leader_election(tools: Tools) -> None:
    """kafka-leader-election is told that the leader leads already."""
    tools.produce("led", 1)
    told = tools.run("kafka-leader-election", "--election-type", "PREFERRED", "--topic", "led", "--partition", 0)
    assert "Valid replica already elected for partitions led-0" in told


def log_dirs(tools: Tools) -> None:
    """kafka-log-dirs describes the sizes of logs."""
    tools.produce("sized", 5)
    size = tools.broker.local.replicas.hosted[TopicPartition("sized", 0)].log.size
    assert f'"partition":"sized-0","size":{size}' in tools.run("kafka-log-dirs", "--describe")


def api_versions(tools: Tools) -> None:
    """kafka-broker-api-versions lists what is answered."""
    told = tools.run("kafka-broker-api-versions")
    assert "Produce(0): 0 to 13" in told
    assert "CreateTopics(19): 2 to 7" in told


def consumer_groups(tools: Tools) -> None:
    """kafka-consumer-groups describes what a group has committed, and sets it back."""
    tools.produce("grouped", 10)
    settings = {"bootstrap.servers": tools.bootstrap, "group.id": "told", "auto.offset.reset": "earliest"}
    consumer = ck.Consumer(settings)
    consumer.subscribe(["grouped"])
    message = consumer.poll(SECONDS)
    assert message is not None
    assert message.error() is None
    consumer.commit(message, asynchronous=False)
    consumer.close()
    named = ("--group", "told")
    assert "grouped 0 1 10 9" in " ".join(tools.run("kafka-consumer-groups", "--describe", *named).split())
    tools.run(
        "kafka-consumer-groups",
        *("--reset-offsets", *named, "--topic", "grouped", "--to-offset", 7, "--execute"),
    )
    assert "grouped 0 7 10 3" in " ".join(tools.run("kafka-consumer-groups", "--describe", *named).split())


CHECKS: dict[str, Callable[[Tools], None]] = {
    check.__name__: check
    for check in (
        console,
        performance,
        topics,
        configs,
        offsets,
        delete_records,
        leader_election,
        log_dirs,
        api_versions,
        consumer_groups,
    )
}
