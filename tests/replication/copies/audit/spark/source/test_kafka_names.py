"""Options of Spark's own source of Kafka: they mean the same of files, or are refused with what to write instead."""

import json
from typing import Final

import pytest

from replication.base.errors import NotAllowedError, UnknownOptionError
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from tests.data.replicas import replicas
from tests.replication.copies.audit.spark.source.planned import Planned, Row

BROKER: Final = replicas("diverged") / "broker-1"
COMMITTED: Final = {"isolation": "read_committed"}


def rows(**options: str) -> list[Row]:
    return Planned(BROKER, **{"columns": "topic,partition,offset,timestamp_ms,is_aborted", **options}).rows()


def places(found: list[Row]) -> set[str]:
    return {f"{row['topic']}-{row['partition']}" for row in found}


@pytest.mark.parametrize(
    ("kafkas", "ours"),
    [
        ({"subscribe": "diverge,hwloss"}, {"topics": "diverge,hwloss"}),
        ({"assign": '{"orders": [0, 2], "diverge": [0]}'}, {"partitions": "orders-0,orders-2,diverge-0"}),
        ({"subscribePattern": "d.*e|hw[a-z]+"}, {"topics": "diverge,hwloss"}),
        ({"subscribe": "txns", "kafka.isolation.level": "read_committed"}, {"topics": "txns", **COMMITTED}),
        ({"subscribe": "txns", "includeHeaders": "true"}, {"topics": "txns"}),
    ],
)
def test_they_choose_what_ours_choose(kafkas: dict[str, str], ours: dict[str, str]) -> None:
    found = rows(**kafkas)
    assert found
    assert found == rows(**ours)


def test_an_expression_is_of_the_whole_name() -> None:
    assert places(rows(subscribePattern="order.")) == {"orders-0", "orders-1", "orders-2"}
    with pytest.raises(Exception, match="no partition"):
        rows(subscribePattern="order")


def test_times_by_partition_bound_these_partitions_alone() -> None:
    everything = rows(topics="diverge,hwloss")
    times = sorted(row["timestamp_ms"] for row in everything if row["topic"] == "diverge")
    first, behind = times[len(times) // 3], times[2 * len(times) // 3]
    found = rows(
        topics="diverge,hwloss",
        startingOffsetsByTimestamp=json.dumps({"diverge": {"0": first}}),
        endingOffsetsByTimestamp=json.dumps({"diverge": {"0": behind}}),
    )
    assert found == [row for row in everything if row["topic"] == "hwloss" or first <= row["timestamp_ms"] < behind]
    assert 0 < len(found) < len(everything)


@pytest.mark.parametrize("value", ["READ_COMMITTED", "Read_Committed"])
def test_the_case_of_a_value_does_not_matter(value: str) -> None:
    options = SourceOptions.of({"path": "/a", "rows": "RECORDS", "isolation": value})
    assert options.is_committed


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("kafka.bootstrap.servers", "name their directories"),
        ("kafka.max.poll.records", "no client is configured"),
        ("maxOffsetsPerTrigger", "startingOffsets and endingOffsets"),
        ("minPartitions", "taskBytes"),
        ("maxRecordsPerPartition", "taskBytes"),
        ("includeHeaders", "the column headers"),
        ("groupIdPrefix", "no group is joined"),
    ],
)
def test_what_means_nothing_of_files_is_refused_with_what_to_write(option: str, instead: str) -> None:
    with pytest.raises(UnknownOptionError, match=f"no option {option.lower()}; .*{instead}.*allowed: .*subscribe"):
        SourceOptions.of({"path": "/a", option.lower(): "false"})  # as Spark hands them over


@pytest.mark.parametrize("text", ["", "orders", "{}", '{"a": []}', '{"a": 0}', '{"a": [-1]}', '{"a": [true]}'])
def test_partitions_that_are_assigned_are_numbers_by_topic(text: str) -> None:
    with pytest.raises(NotAllowedError, match=r'partitions by topic as JSON: {"orders": \[0, 1\]}'):
        SourceOptions.of({"path": "/a", "assign": text})


@pytest.mark.parametrize("text", ["1", "{}", '{"orders": 1}', '{"orders": {"0": -1}}', '{"orders": {"0": "2026"}}'])
def test_times_by_partition_are_milliseconds(text: str) -> None:
    with pytest.raises(NotAllowedError, match="milliseconds since 1970 UTC by partition"):
        SourceOptions.of({"path": "/a", "rows": "records", "startingoffsetsbytimestamp": text})


@pytest.mark.parametrize("text", ["(", "*", "(" * 400 + ")" * 400 + "(", "a" * 1_001])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(NotAllowedError, match="subscribePattern"):
        SourceOptions.of({"path": "/a", "subscribepattern": text})


def test_one_thing_is_not_said_twice() -> None:
    with pytest.raises(NotAllowedError, match="either this option or topics, not both"):
        SourceOptions.of({"path": "/a", "subscribe": "a", "topics": "b"})
