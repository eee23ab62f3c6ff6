"""Two brokers of a real cluster are audited while they run: nothing false is said of what producers write meanwhile."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from tests.data.make_replicas import Story
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import Outcome, epochlog

TOPICS: Final = ("calm", "trickle", "flood")
SETTINGS: Final = {"log.segment.bytes": 1 << 20, "log.retention.ms": -1}
KNOWN: Final = {"identical", "lagging"}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Story]:
    """Each topic has a partition that one broker leads, and one that the other does."""
    with KafkaCluster(tmp_path_factory.mktemp("live") / "kafka", release, brokers=2, settings=SETTINGS) as cluster:
        story = Story(cluster, 1)
        for topic in TOPICS:
            story.create(topic, [[1, 2], [2, 1]])
            for partition in (0, 1):
                story.wait_for_isr(topic, 2, partition)
                story.produce(topic, 2_000, partition, tag=topic)
        yield story


@contextmanager
def meanwhile(work: Callable[[threading.Event], None]) -> Iterator[None]:
    ended = threading.Event()
    thread = threading.Thread(target=work, args=(ended,))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def writing(story: Story, topic: str, every: float) -> Callable[[threading.Event], None]:
    """Let a producer write a record to each partition again and again."""

    def write(ended: threading.Event) -> None:
        producer = Producer({"bootstrap.servers": story.cluster.bootstrap(), "acks": "all", "linger.ms": 0})
        while not ended.wait(every):
            for partition in (0, 1):
                producer.produce(topic, b"value" * 20, partition=partition)
            producer.poll(0)
        producer.flush(60)

    return write


def audited(story: Story, *options: object) -> Outcome:
    return epochlog("audit", *(story.cluster.log_dir(node) for node in (1, 2)), "--live", "--json", *options)


def verdicts(outcome: Outcome) -> dict[str, str]:
    return {f"{each['topic']}-{each['partition']}": each["verdict"] for each in outcome.document["partitions"]}


def troubles(outcome: Outcome) -> set[str]:
    found: list[dict[str, Any]] = outcome.document["findings"]
    return {each["kind"] for each in found if each["severity"] != "info"}


def loses_what_was_acknowledged(partition: dict[str, Any]) -> bool:
    """Whether more is lost in a fork than what a leader took as it was stopped, and the other had not fetched."""
    going_on = [each for each in partition["candidates"] if each["replica"] == "broker-1"]
    return partition["verdict"] == "forked" and any(each["acknowledged"]["records"] for each in going_on)


def test_what_producers_write_meanwhile_is_known_where_they_pause_and_else_may_be_unknown(story: Story) -> None:
    with meanwhile(writing(story, "trickle", 0.5)), meanwhile(writing(story, "flood", 0.005)):
        outcome = audited(story, "--patience", 15)
    told = verdicts(outcome)
    assert {told["calm-0"], told["calm-1"]} == {"identical"}
    assert {told["trickle-0"], told["trickle-1"]} <= KNOWN
    assert {*told.values()} <= KNOWN | {"unknown"}
    assert troubles(outcome) <= {"moved-while-read"}
    assert outcome.status == (2 if "unknown" in told.values() else 1 if "lagging" in told.values() else 0)
    again = outcome.document["live"]["read_again"]
    assert again
    assert "calm" not in {each["topic"] for each in again}
    unknown = {f"{each['topic']}-{each['partition']}" for each in again if each["moved"]}
    assert unknown == {name for name, verdict in told.items() if verdict == "unknown"}


def test_a_broker_that_stops_and_starts_meanwhile_is_not_called_damaged(story: Story) -> None:
    started = threading.Event()

    def restart(_: threading.Event) -> None:
        story.cluster.stop(2)
        story.cluster.start(2)
        started.set()

    outcomes = []
    with meanwhile(writing(story, "trickle", 0.1)), meanwhile(restart):
        while not started.is_set():
            outcomes.append(audited(story, "--patience", 0.5))
    assert len(outcomes) > 1
    for outcome in outcomes:
        assert {*verdicts(outcome).values()} <= KNOWN | {"unknown", "forked"}
        assert [each for each in outcome.document["partitions"] if loses_what_was_acknowledged(each)] == []
        assert troubles(outcome) <= {"moved-while-read"}


def test_when_nobody_writes_any_more_all_copies_agree(story: Story) -> None:
    for topic in TOPICS:
        for partition in (0, 1):
            story.wait_for_isr(topic, 2, partition)
    outcome = audited(story, "--topics", ",".join(TOPICS))
    assert {*verdicts(outcome).values()} == {"identical"}
    assert troubles(outcome) == set()
    assert outcome.status == 0
