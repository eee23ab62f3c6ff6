"""Three real brokers are audited over the network: what was done to a follower's files is found, and nothing else."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from logstore.batch.any_batch import Batch
from logstore.offline.partition_directory import PartitionDirectory
from tests.data.make_replicas import Story
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cluster.network_audit.changed_files import cut_out, fork_from
from tests.replication.copies.audit.logs import change_record

SETTINGS: Final = {"log.retention.ms": -1, "log.retention.check.interval.ms": 1_000}
CLEANED: Final = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": 0.01, "segment_ms": 1_000}
CHANGED: Final = ("flipped", "lacking", "forked")
CLEAN: Final = ("plain", "txns", "compacted", "deleted", "empty")
HARMLESS: Final = {"identical", "retention", "compaction"}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Story]:
    """Topics with a little of everything; broker 3 leads none of those whose files will be changed."""
    with KafkaCluster(tmp_path_factory.mktemp("audited") / "kafka", release, brokers=3, settings=SETTINGS) as cluster:
        story = Story(cluster, 1)
        story.create("plain", [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
        for topic in ("txns", *CHANGED, "empty"):
            story.create(topic, [[1, 2, 3]])
        story.create("compacted", [[2, 3, 1]], **CLEANED)
        story.create("deleted", [[3, 1, 2]], segment_bytes=1 << 20)
        for topic in (*CLEAN, *CHANGED):
            story.wait_for_isr(topic, 3)
        for partition in range(3):
            story.produce("plain", 2_000, partition, tag="p", codec=("none", "lz4", "zstd")[partition])
        for number in range(4):
            producer = story.produce("txns", 70, tag=f"t{number}", transaction="tx")
            (producer.abort_transaction if number % 3 == 1 else producer.commit_transaction)(30)
        for topic in CHANGED:
            for number in range(20):
                story.produce(topic, 10, tag=f"{topic}{number}")
        for number in range(4):
            story.produce("compacted", 300, size=300, tag="k", transaction=None, tombstone_each=9 if number == 3 else 0)
            time.sleep(1.2)
        story.produce("deleted", 1_000, size=300, tag="d")
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
        for future in admin.delete_records([TopicPartition("deleted", 0, 437)]).values():
            future.result(30)
        yield story


def audited(story: Story, *options: object) -> Outcome:
    return epochlog("audit", "--bootstrap", story.cluster.bootstrap(), "--json", *options)


def verdicts(outcome: Outcome) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in outcome.document["partitions"]:
        found.setdefault(each["topic"], set()).update(each["verdicts"])
    return found


def troubles(outcome: Outcome) -> list[dict[str, Any]]:
    return [each for each in outcome.document["findings"] if each["severity"] != "info"]


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


def writing(story: Story) -> Callable[[threading.Event], None]:
    """Let producers write to all that is clean, without a pause."""

    def write(ended: threading.Event) -> None:
        settings = {"bootstrap.servers": story.cluster.bootstrap(), "acks": "all", "linger.ms": 0}
        producer = Producer({**settings, "enable.idempotence": True})
        number = 0
        while not ended.wait(0.001):
            number += 1
            for partition in range(3):
                producer.produce("plain", b"value" * 20, partition=partition)
            producer.produce("compacted", b"value" * 20, b"key-%d" % (number % 7), partition=0)
            producer.poll(0)
        producer.flush(60)

    return write


def test_a_clean_cluster_is_clean_while_producers_write_and_the_cleaner_works(story: Story) -> None:
    with meanwhile(writing(story)):
        time.sleep(1)
        outcomes = [audited(story) for _ in range(3)]
    for outcome in outcomes:
        found = verdicts(outcome)
        assert {*CLEAN, *CHANGED} <= found.keys()
        assert {each for topic in found for each in found[topic]} <= HARMLESS
        assert troubles(outcome) == []
        assert outcome.status == 0
    branches = {(each["topic"], each["partition"]): each["branches"] for each in outcomes[-1].document["partitions"]}
    assert [each["replica"] for each in branches["plain", 0]] == ["broker-1", "broker-2", "broker-3"]
    assert all(each["records"] > 2_000 for number in range(3) for each in branches["plain", number])
    assert {each["records"] for each in branches["flipped", 0]} == {200}
    assert {each["log_start_offset"] for each in branches["deleted", 0]} == {437}


def test_brokers_that_go_and_come_back_meanwhile_are_no_damage(story: Story) -> None:
    done = threading.Event()

    def restart(_: threading.Event) -> None:
        story.cluster.kill(2)
        time.sleep(4)
        story.cluster.start(2)
        done.set()

    outcomes = []
    with meanwhile(writing(story)), meanwhile(restart):
        while not done.is_set():
            outcomes.append(audited(story, "--topics", ",".join(CLEAN), "--patience", 1))
    assert len(outcomes) > 1
    for outcome in outcomes:
        found = verdicts(outcome)
        assert {each for topic in found for each in found[topic]} <= HARMLESS | {"lagging", "unknown"}
        assert {each["kind"] for each in troubles(outcome)} <= {"moved-while-read", "file-unreadable"}
    for topic in (*CLEAN, *CHANGED):
        story.wait_for_isr(topic, 3)


def test_what_was_done_to_a_followers_files_is_found(story: Story) -> None:
    cluster = story.cluster
    cluster.stop(3)
    files = {topic: PartitionDirectory.open(cluster.log_dir(3) / f"{topic}-0") for topic in CHANGED}
    batches = {topic: batch_with(partition, 100) for topic, partition in files.items()}
    change_record(files["flipped"], batches["flipped"].base_offset)
    cut_out(files["lacking"], batches["lacking"].base_offset, batches["lacking"].base_offset)
    fork_from(files["forked"], batches["forked"].base_offset, leader_epoch=50)
    first = {topic: batch.base_offset for topic, batch in batches.items()}
    first["flipped"] = batches["flipped"].last_offset  # it is the last record that was changed
    cluster.start(3)
    for topic in (*CLEAN, *CHANGED):
        story.wait_for_isr(topic, 3)
    outcome = audited(story)
    found = verdicts(outcome)
    assert {topic: found[topic] for topic in CHANGED} == {
        "flipped": {"silent-divergence"},
        "lacking": {"missing"},
        "forked": {"forked"},
    }
    assert {each for topic in CLEAN for each in found[topic]} <= HARMLESS
    assert {each["topic"] for each in troubles(outcome)} <= {*CHANGED}
    differing = {
        each["topic"]: {
            (frozenset((pair["leader"], pair["follower"])), pair["first_difference"])
            for pair in each["pairs"]
            if pair["first_difference"] is not None
        }
        for each in outcome.document["partitions"]
        if each["topic"] in CHANGED
    }
    assert differing == {
        topic: {(frozenset((name, "broker-3")), offset) for name in ("broker-1", "broker-2")}
        for topic, offset in first.items()
    }
    assert outcome.status in {1, 3}


def batch_with(partition: PartitionDirectory, offset: int) -> Batch:
    """Return the batch that holds an offset."""
    for segment in partition.segments:
        for batch in segment.open_log().batches():
            if batch.base_offset <= offset <= batch.last_offset:
                return batch
    raise AssertionError(f"{partition} has no offset {offset}")


def test_what_files_do_not_show_a_real_cluster_is_asked_for(story: Story) -> None:
    root, bootstrap = story.cluster.log_dir(2), story.cluster.bootstrap()
    asked = "explain", "compacted-0", root, "--offsets", "0:100000", "--ask", bootstrap, "--json"
    document = epochlog(*asked).document
    told = document["cluster"]
    assert (told["replicas"], told["compacted"], told["remote_storage"]) == ([2, 3, 1], True, False)
    assert (told["leader"] in told["isr"], told["unclean_allowed"], told["log_start_offset"]) == (True, False, 0)
    delivered = [each for each in document["ranges"] if each["why"] == "delivered"]
    assert delivered[-1]["last_offset"] < told["high_watermark"]
    never = [each for each in document["ranges"] if each["why"] == "never-written"]
    assert never[0]["first_offset"] == told["high_watermark"]
    planned = epochlog("plan", "--leader", root, "--follower", story.cluster.log_dir(1), "--ask", bootstrap, "--json")
    assert {each["electable"] for each in planned.document["partitions"] if each["topic"] == "empty"} <= {
        "leads",
        "in-sync",
    }


def test_a_copy_of_a_real_broker_that_works_agrees_with_what_the_others_answer(story: Story) -> None:
    cluster = story.cluster
    kept = f"kept={cluster.log_dir(2)}"
    outcome = audited(story, kept, "--topics", ",".join(CLEAN))
    found = verdicts(outcome)
    assert {each for topic in found for each in found[topic]} <= HARMLESS
    assert troubles(outcome) == []
    branches = {each["topic"]: each["branches"] for each in outcome.document["partitions"]}
    assert [each["replica"] for each in branches["txns"]] == ["broker-1", "broker-3", "kept"]
    with meanwhile(writing(story)):
        outcome = audited(story, kept, "--topics", "plain,txns", "--patience", 5)
    found = verdicts(outcome)
    assert {each for topic in found for each in found[topic]} <= HARMLESS | {"unknown"}
    assert {each["kind"] for each in troubles(outcome)} <= {"moved-while-read"}
    assert found["txns"] <= HARMLESS
