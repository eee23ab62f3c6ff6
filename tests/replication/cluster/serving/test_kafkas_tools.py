"""The tools that come with Kafka, on golden sets: they print what the copies hold."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from tests.campaign import Campaign
from tests.data.replicas import IN_TURN
from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools
from tests.replication.cluster.serving.clients import SECONDS
from tests.replication.cluster.serving.java_tools import as_printed, console_consumer, run_tool
from tests.replication.cluster.serving.served_set import Served

LEVELS = pytest.mark.parametrize("committed", [True, False], ids=["committed", "all"])
EARLIEST, LATEST = -2, -1
SETS = Campaign("serve: golden sets through Kafka's tools", full=5, share=1)


@pytest.fixture(scope="module")
def tools(release: KafkaRelease) -> Iterator[KafkaTools]:
    with KafkaTools(release) as started:
        yield started


def test_each_golden_set_has_its_turn(release: KafkaRelease) -> None:
    assert len(IN_TURN) == SETS.count
    SETS.report(len(IN_TURN), ", ".join(IN_TURN), beside=release)


@LEVELS
def test_the_console_consumer_prints_each_record(in_turn: Served, tools: KafkaTools, committed: bool) -> None:
    printed = 0
    for topic, partitions in in_turn.topics.items():
        truth = {each.partition: in_turn.truth(each, committed) for each in partitions}
        wanted = {number: [as_printed(each) for each in records] for number, records in truth.items() if records}
        if wanted:
            count = sum(map(len, wanted.values()))
            assert console_consumer(tools, in_turn.bootstrap, topic, committed, count) == wanted
            printed += count
    assert printed > 0


def test_the_console_consumer_prints_no_more_than_there_is(in_turn: Served, tools: KafkaTools) -> None:
    topic, partitions = max(in_turn.topics.items())
    seen = console_consumer(tools, in_turn.bootstrap, topic, committed=True)
    assert seen == {each.partition: list(map(as_printed, in_turn.truth(each, committed=True))) for each in partitions}


@pytest.mark.parametrize("time", [EARLIEST, LATEST])
def test_kafka_get_offsets_prints_where_the_logs_begin_and_end(in_turn: Served, tools: KafkaTools, time: int) -> None:
    printed = run_tool(tools, "kafka-get-offsets", "--bootstrap-server", in_turn.bootstrap, "--time", time)
    told = {line.rpartition(":")[0].replace(":", "-"): int(line.rpartition(":")[2]) for line in printed.splitlines()}
    for partition in in_turn.partitions:
        log = in_turn.leaders(partition).log
        assert told[str(partition)] == (log.log_start_offset if time == EARLIEST else log.log_end_offset)


def test_kafka_consumer_perf_test_reads_topics(in_turn: Served, tools: KafkaTools) -> None:
    for topic, partitions in in_turn.topics.items():
        wanted = sum(len(in_turn.truth(each, committed=False)) for each in partitions)
        if wanted:
            printed = run_tool(
                tools,
                "kafka-consumer-perf-test",
                *("--bootstrap-server", in_turn.bootstrap, "--topic", topic, "--num-records", wanted),
            )
            assert int(printed.splitlines()[1].split(",")[4]) == wanted


def test_kafka_topics_describes_leaders_and_replicas(in_turn: Served, tools: KafkaTools) -> None:
    printed = run_tool(tools, "kafka-topics", "--bootstrap-server", in_turn.bootstrap, "--describe")
    for topic, number, each in in_turn.cluster.topics.topics.partitions():
        line = next(line for line in printed.splitlines() if f"Topic: {topic.name}\tPartition: {number}\t" in line)
        assert f"Leader: {each.leader}" in line
        assert f"Replicas: {','.join(map(str, each.replicas))}" in line


def test_kafka_log_dirs_describes_the_partitions_of_brokers(in_turn: Served, tools: KafkaTools) -> None:
    printed = run_tool(tools, "kafka-log-dirs", "--bootstrap-server", in_turn.bootstrap, "--describe")
    for held in in_turn.hosted:
        for partition, hosted in held.items():
            assert f'"partition":"{partition}","size":{hosted.log.size}' in printed


def test_kafka_configs_describes_topics(in_turn: Served, tools: KafkaTools) -> None:
    printed = run_tool(
        tools,
        "kafka-configs",
        *("--bootstrap-server", in_turn.bootstrap, "--describe", "--all", "--entity-type", "topics"),
    )
    told = printed.split("All configs for topic ")[1:]
    assert {each.split()[0] for each in told} == {topic.name for topic in in_turn.cluster.topics.topics}
    assert all("retention.ms=" in each for each in told)


def test_kafka_broker_api_versions_lists_what_is_answered(in_turn: Served, tools: KafkaTools) -> None:
    printed = run_tool(tools, "kafka-broker-api-versions", "--bootstrap-server", in_turn.bootstrap)
    assert printed.count("Fetch(1): 4 to 18") == len(in_turn.cluster.brokers)
    assert "CreateTopics(19): UNSUPPORTED" in printed


def test_kafka_consumer_groups_shows_what_a_group_has_committed(in_turn: Served, tools: KafkaTools) -> None:
    topic = next(each.topic for each in in_turn.partitions if in_turn.truth(each, committed=True))
    consumer = Consumer({"bootstrap.servers": in_turn.bootstrap, "group.id": "told", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = consumer.poll(SECONDS)
    assert message is not None
    assert message.error() is None
    consumer.commit(message, asynchronous=False)
    consumer.close()
    printed = run_tool(
        tools, "kafka-consumer-groups", "--bootstrap-server", in_turn.bootstrap, "--describe", "--group", "told"
    )
    offset = message.offset()
    assert offset is not None
    assert f"{topic} {message.partition()} {offset + 1}" in " ".join(printed.split())
