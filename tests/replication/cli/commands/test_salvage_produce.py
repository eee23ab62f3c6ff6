"""`epochlog salvage --produce` on a real broker: what it says, what it refuses, and what it does when that fails."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from logstore.file_name import META_PROPERTIES_NAME
from tests.oracle.broker import CLUSTER, Broker, free_port
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.copies.salvage.cluster.target import Target
from tests.replication.copies.salvage.copies import Part, data, write_copy

COMMON = data(0, b"common")
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Target]:
    with Broker(tmp_path_factory.mktemp("target"), release) as broker:
        yield Target(broker.address)


def copies(directory: Path, *losing: Part, topic: str = "t", cleaned: int | None = None) -> list[Path]:
    roots = {"broker-0": [COMMON], "broker-1": [COMMON, *losing]}
    return [write_copy(directory / name, parts, topic=topic, cleaned=cleaned) for name, parts in roots.items()]


def salvage(roots: list[Path], target: Target, *more: object) -> Any:
    return epochlog("salvage", *roots, "--kept", "broker-0", "--produce", target.address, *more)


def test_it_says_what_was_written_and_what_was_there(tmp_path: Path, target: Target) -> None:
    roots = copies(tmp_path, data(1, b"a"), data(1, b"b"), topic="said")
    target.create("said")
    dry = salvage(roots, target, "--dry-run")
    assert (dry.status, dry.err) == (0, "")
    assert dry.out.startswith("2 records to salvage: ")
    assert f"2 records to write to the cluster {CLUSTER}, and 0 found there from an earlier run.\n" in dry.out
    assert target.values("said") == []
    done = salvage(roots, target)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("2 records salvaged: ")
    assert f"2 records written to the cluster {CLUSTER}, and 0 found there from an earlier run.\n" in done.out
    again = salvage(roots, target)
    assert f"0 records written to the cluster {CLUSTER}, and 2 found there from an earlier run.\n" in again.out
    assert target.values("said") == [b"a", b"b"]


def test_json_says_it_too_and_that_the_copies_are_of_another_cluster(tmp_path: Path, target: Target) -> None:
    roots = copies(tmp_path, data(1, b"a"))
    for number, root in enumerate(roots):
        (root / META_PROPERTIES_NAME).write_text(f"version=1\nnode.id={number}\ncluster.id=elsewhere\n")
    target.create("u")
    options = ("--to-topic", "u", "--json")
    partition = {"topic": "t", "partition": 0, "to_topic": "u", "written": 1, "already_there": 0}
    said = {"cluster_id": CLUSTER, "copies_cluster_id": "elsewhere", "written": 1, "already_there": 0}
    said |= {"partitions": [partition]}
    assert salvage(roots, target, *options, "--dry-run").document["produced"] == {"dry_run": True, **said}
    done = salvage(roots, target, *options).document
    assert (done["produced"], done["to"], done["salvaged"]) == ({"dry_run": False, **said}, None, 1)
    told = salvage(roots, target, "--to-topic", "u").out
    assert f"the cluster {CLUSTER}, and 1 found there from an earlier run. The" in told
    assert "  t-0: 0 written to u-0, 1 found there" in told


def test_nothing_to_salvage_is_nothing_to_write(tmp_path: Path, target: Target) -> None:
    roots = [write_copy(tmp_path / f"broker-{number}", [COMMON]) for number in (0, 1)]
    done = salvage(roots, target)
    assert (done.status, done.err) == (0, "")
    assert f"0 records written to the cluster {CLUSTER}" in done.out


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"max_message_bytes": 200}, "max.message.bytes is 200"),
        ({"message_timestamp_type": "LogAppendTime"}, "message.timestamp.type is LogAppendTime"),
        ({"message_timestamp_before_max_ms": DAY_MS}, f"message.timestamp.before.max.ms is {DAY_MS}"),
        ({"retention_ms": DAY_MS}, f"retention.ms is {DAY_MS}"),
        ({"cleanup_policy": "compact"}, "cleanup.policy is compact"),
    ],
)
def test_a_setting_that_would_refuse_change_or_delete_records(
    tmp_path: Path, target: Target, settings: dict[str, object], named: str
) -> None:
    topic = target.create("-".join(settings), **settings)
    roots = copies(tmp_path, data(1, b"small"), data(1, bytes(300)))
    for dry in ((), ("--dry-run",)):
        refused = salvage(roots, target, "--to-topic", topic, *dry)
        assert (refused.status, refused.out) == (2, "")
        assert f"nothing was written: {topic}: {named}" in refused.err
    assert target.values(topic) == []


def test_all_that_stands_against_it_is_said_at_once(tmp_path: Path, target: Target) -> None:
    topic = target.create("all-at-once", retention_ms=1, max_message_bytes=1)
    refused = salvage(copies(tmp_path, data(1, b"a")), target, "--to-topic", topic)
    assert "max.message.bytes is 1" in refused.err
    assert "retention.ms is 1" in refused.err


def test_a_record_in_the_future(tmp_path: Path, target: Target) -> None:
    topic = target.create("future")
    later = round(time.time() * 1_000) + DAY_MS
    refused = salvage(copies(tmp_path, data(1, b"a", timestamp=later)), target, "--to-topic", topic)
    assert f"{topic}: message.timestamp.after.max.ms is " in refused.err


def test_a_topic_that_is_not_there_or_too_small_is_not_made(tmp_path: Path, target: Target) -> None:
    roots = copies(tmp_path, data(1, b"a"), topic="absent")
    for _ in range(2):
        refused = salvage(roots, target)
        assert (refused.status, refused.out) == (2, "")
        assert "absent: the cluster has no such topic" in refused.err
    for root in roots:
        (root / "absent-0").rename(root / "absent-3")
    target.create("absent", partitions=3)
    refused = salvage(roots, target)
    assert "absent: it has 3 partitions, and absent-3 has records" in refused.err


def test_a_compacted_topic_takes_what_was_compacted_and_has_keys(tmp_path: Path, target: Target) -> None:
    topic = target.create("compacted", cleanup_policy="compact")
    roots = copies(tmp_path / "keyed", data(1, b"a", key=b"k"), data(1, b"b", key=b"k"), cleaned=1)
    done = salvage(roots, target, "--to-topic", topic)
    assert (done.status, target.values(topic)) == (0, [b"b"])
    keyless = copies(tmp_path / "keyless", data(1, b"a"), cleaned=1)
    refused = salvage(keyless, target, "--to-topic", topic)
    assert "cleanup.policy is compact, and 1 record of t-0 has no key" in refused.err
    assert target.values(topic) == [b"b"]


def test_several_topics_are_not_put_into_one(tmp_path: Path, target: Target) -> None:
    roots = copies(tmp_path, data(1, b"a"))
    for root, parts in zip(roots, ([COMMON], [COMMON, data(1, b"b")]), strict=True):
        write_copy(root, parts, topic="v")
    refused = salvage(roots, target, "--to-topic", "u")
    assert "u can take one topic's records, and these are of t, v" in refused.err


def test_kafkas_own_topics_are_not_written_to(tmp_path: Path, target: Target) -> None:
    roots = copies(tmp_path, data(1, b"a"), topic="__consumer_offsets")
    refused = salvage(roots, target, "--topics", "__consumer_offsets")
    assert "nothing was written: __consumer_offsets: its records mean something only to" in refused.err


def test_copies_of_different_clusters(tmp_path: Path, target: Target) -> None:
    roots = copies(tmp_path, data(1, b"a"))
    for number, root in enumerate(roots):
        (root / META_PROPERTIES_NAME).write_text(f"version=1\nnode.id={number}\ncluster.id=cluster-{number}\n")
    refused = salvage(roots, target)
    assert (refused.status, refused.out) == (2, "")
    assert "cluster-0" in refused.err
    assert "cluster-1" in refused.err


def test_a_kept_broker_that_is_none_of_them(tmp_path: Path, target: Target) -> None:
    refused = epochlog("salvage", *copies(tmp_path, data(1, b"a")), "--kept", "7", "--produce", target.address)
    assert (refused.status, "no copy is that of 7" in refused.err) == (2, True)


def test_a_cluster_that_is_not_there_is_told_of_within_seconds(tmp_path: Path) -> None:
    for address, why in ((f"127.0.0.1:{free_port()}", "Connection refused"), ("nowhere.invalid:9092", "")):
        began = time.monotonic()
        refused = salvage(copies(tmp_path / address.replace(":", "-"), data(1, b"a")), Target(address))
        assert time.monotonic() - began < 8  # seconds, where the client alone would try for thirty
        assert (refused.status, refused.out) == (2, "")
        assert f"{address}: no answer" in refused.err
        assert why in refused.err


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--output", "a.jsonl", "--produce", "b:1"),
        ("--output", "a.jsonl", "--dry-run"),
        ("--dry-run", "--to-topic", "u"),
        ("--output", "a.jsonl", "--command-config", "f"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, options: tuple[str, ...]) -> None:
    refused = epochlog("salvage", *copies(tmp_path, data(1, b"a")), "--kept", "broker-0", *options)
    assert (refused.status, refused.out) == (2, "")
    assert "(see `epochlog salvage --help`)" in refused.err
