"""A topic is refused for what its settings would do to records, by the setting's name."""

import random
from pathlib import Path
from typing import Any

import pytest

from logstore import BatchTemplate, Header, Record, encode_batch
from logstore.topic_partition import TopicPartition
from replication.copies.planning.failures import stop
from replication.copies.salvage.cluster.batch_sizes import batch_sizes
from replication.copies.salvage.cluster.needs import Needs
from replication.copies.salvage.cluster.partition_writing import header_values
from replication.copies.salvage.cluster.target_topic import TargetTopic
from replication.copies.salvage.held.provenance import HEADER
from replication.salvage import plan_salvage
from tests.replication.copies.salvage.copies import Part, data, write_copy

COMMON = data(0, b"common")
NOW = 1_800_000_000_000
DAY = 86_400_000
SETTINGS = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": str(2**63 - 1),
    "message.timestamp.type": "CreateTime",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
}


def problems(
    needs: dict[str, Any] | None = None, allowed: frozenset[str] = frozenset({"READ", "WRITE"}), **settings: object
) -> list[str]:
    given_settings = SETTINGS | {name.replace("_", "."): str(value) for name, value in settings.items()}
    known = {"records": 1, "largest": 100, "largest_offset": 7, "oldest": NOW - DAY, "newest": NOW - DAY}
    topic = TargetTopic("target", 3, given_settings, allowed)
    return list(topic.problems(Needs(TopicPartition("t", 2), **(known | (needs or {}))), NOW))


@pytest.mark.parametrize(
    ("needs", "settings", "named"),
    [
        ({}, {"max_message_bytes": 99}, "max.message.bytes is 99, and the record of t-2 at offset 7 needs 100"),
        ({}, {"segment_bytes": 99}, "segment.bytes is 99, and the record of t-2 at offset 7 needs 100"),
        ({}, {"message_timestamp_type": "LogAppendTime"}, "message.timestamp.type is LogAppendTime"),
        ({}, {"message_timestamp_before_max_ms": DAY - 1}, f"message.timestamp.before.max.ms is {DAY - 1}"),
        ({"newest": NOW + 3_600_001}, {}, "message.timestamp.after.max.ms is 3600000"),
        ({}, {"retention_ms": DAY - 1}, f"retention.ms is {DAY - 1}"),
        ({}, {"cleanup_policy": "compact"}, "cleanup.policy is compact, and t-2 was not compacted"),
        ({"is_compacted": True, "keyless": 2}, {"cleanup_policy": "compact,delete"}, "2 records of t-2 have no key"),
        ({"at_zero": 1}, {}, "1 record of t-2 has the timestamp 0"),
        ({"partition": TopicPartition("t", 3)}, {}, "it has 3 partitions, and t-3 has records"),
    ],
)
def test_what_stands_against_records(needs: dict[str, Any], settings: dict[str, object], named: str) -> None:
    partition = needs.pop("partition", None)
    if partition is not None:
        topic = TargetTopic("target", 3, SETTINGS)
        [told] = topic.problems(Needs(partition, records=1), NOW)
    else:
        [told] = problems(needs, **settings)
    assert named in told


@pytest.mark.parametrize(("message", "segment", "batch"), [(900, 800, 800), (900, 1_000, 900)])
def test_a_batch_is_no_larger_than_a_segment(message: int, segment: int, batch: int) -> None:
    settings = SETTINGS | {"max.message.bytes": str(message), "segment.bytes": str(segment)}
    assert TargetTopic("target", 3, settings).largest_batch == batch


DIFFERENCE = "message.timestamp.difference.max.ms"


@pytest.mark.parametrize(
    "own", [{}, {f"message.timestamp.{way}.max.ms": str(2**63 - 1) for way in ("before", "after")}]
)
def test_before_kafka_4_one_setting_may_limit_times_both_ways(own: dict[str, str]) -> None:
    """Up to 3.5 there is no other; up to 3.9 it counts where that for one way is at its default."""
    settings = {name: value for name, value in SETTINGS.items() if "max.ms" not in name} | own
    needs = Needs(TopicPartition("t", 2), records=1, oldest=NOW - DAY, newest=NOW + DAY)
    assert list(TargetTopic("target", 3, settings | {DIFFERENCE: str(DAY)}).problems(needs, NOW)) == []
    told = list(TargetTopic("target", 3, settings | {DIFFERENCE: str(DAY - 1)}).problems(needs, NOW))
    assert told == [
        f"{DIFFERENCE} is {DAY - 1}, and a record of t-2 is {DAY} ms old",
        f"{DIFFERENCE} is {DAY - 1}, and a record of t-2 is {DAY} ms in the future",
    ]


def test_a_limit_of_one_way_counts_before_that_of_both() -> None:
    assert problems(message_timestamp_before_max_ms=DAY, message_timestamp_difference_max_ms=1) == []


@pytest.mark.parametrize(
    "setting", ["cleanup.policy", "max.message.bytes", "message.timestamp.type", "retention.ms", "segment.bytes"]
)
def test_a_setting_that_is_not_told(setting: str) -> None:
    settings = {name: value for name, value in SETTINGS.items() if name != setting}
    [told] = TargetTopic("target", 3, settings).problems(Needs(TopicPartition("t", 2), records=1), NOW)
    assert f"do not report {setting}" in told


def test_nor_any_limit_of_times() -> None:
    settings = {name: value for name, value in SETTINGS.items() if "max.ms" not in name}
    needs = Needs(TopicPartition("t", 2), records=1, oldest=NOW, newest=NOW)
    [told] = TargetTopic("target", 3, settings).problems(needs, NOW)
    assert "message.timestamp.before.max.ms" in told


def test_acls() -> None:
    [told] = problems(allowed=frozenset({"READ", "DESCRIBE"}))
    assert "may not WRITE" in told


@pytest.mark.parametrize(
    ("needs", "settings"),
    [
        ({}, {}),
        ({}, {"max_message_bytes": 100}),
        ({}, {"segment_bytes": 100}),
        ({}, {"retention_ms": -1}),
        ({}, {"retention_ms": DAY}),
        ({"is_compacted": True}, {"cleanup_policy": "compact", "retention_ms": 1}),
        ({"oldest": None, "newest": None, "timeless": 1}, {"retention_ms": 1}),
    ],
)
def test_what_does_not(needs: dict[str, Any], settings: dict[str, object]) -> None:
    assert problems(needs, **settings) == []


def test_a_batch_of_one_record_has_the_size_that_is_foretold(tmp_path: Path) -> None:
    """Up to some bytes: the header that is added counts as the longest."""
    rng = random.Random(7)
    for number in range(60):
        parts = [random_part(rng) for _ in range(5)]
        copies = [
            write_copy(tmp_path / f"{number}/broker-{n}", each) for n, each in enumerate(([COMMON], [COMMON, *parts]))
        ]
        [salvage] = plan_salvage(copies, "broker-0").salvages()
        for block in salvage.blocks(stop):
            values = header_values(block, None)
            for record, value, size in zip(block.objects(), values, batch_sizes(block, None), strict=True):
                headers = (*record.headers, Header(HEADER, value))
                made = encode_batch([Record(-1, 1, record.key, record.value, headers)], BatchTemplate())
                assert len(bytes(made)) <= size <= len(bytes(made)) + 5


def random_part(rng: random.Random) -> Part:
    def content() -> bytes | None:
        return None if rng.random() < 0.2 else bytes(rng.choice([0, 1, 63, 64, 200, 8_191, 8_192]))

    headers = tuple(Header("h" * rng.choice([0, 5, 70]), content()) for _ in range(rng.choice([0, 0, 1, 70])))
    return data(1, content(), key=content(), headers=headers)
