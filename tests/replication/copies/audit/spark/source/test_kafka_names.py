"""Options of Spark's own source of Kafka: they mean the same of files, or are refused with what to write instead."""

import json
from pathlib import Path
from typing import Final

import pytest

from replication.base.errors import NotAllowedError, UnknownOptionError
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from tests.data.replicas import replicas
from tests.replication.copies.audit.snapshot_roots import batches, write_root
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


def test_headers_may_be_left_out() -> None:
    def columns(**options: str) -> list[str]:
        return list(SourceOptions.of({"path": "/a", "rows": "records", **options}).columns)

    assert columns(includeheaders="TRUE") == columns()
    assert columns(includeheaders="false") == [name for name in columns() if name != "headers"]
    assert columns(includeheaders="false", columns="headers") == ["headers"]


@pytest.mark.parametrize("batches_of", [1, 3, 40])
@pytest.mark.parametrize("wanted", [1, 2, 3, 7, 16])
def test_there_are_about_as_many_tasks_as_are_asked_for(wanted: int, batches_of: int, tmp_path: Path) -> None:
    root = write_root(tmp_path / "a", {"t-0": batches(40), "t-1": batches(8)}, segment_batches=batches_of)
    asked = Planned(root, columns="topic,partition,offset", minPartitions=str(wanted))

    assert wanted <= len(asked.tasks) <= max(4 * wanted, 2)
    key = lambda row: (row["partition"], row["offset"])  # noqa: E731
    assert sorted(asked.rows(), key=key) == sorted(Planned(root, columns="topic,partition,offset").rows(), key=key)


@pytest.mark.parametrize("batches_of", [3, 40])
@pytest.mark.parametrize("most", [6, 20, 60, 1_000])
def test_tasks_have_about_as_many_records_as_they_may(most: int, batches_of: int, tmp_path: Path) -> None:
    root = write_root(tmp_path / "a", {"t-0": batches(40)}, segment_batches=batches_of)
    asked = Planned(root, columns="offset", maxRecordsPerPartition=str(most))

    counts = [sum(rows.num_rows for rows in asked.reader.read(task)) for task in asked.tasks]

    assert sum(counts) == 120
    assert max(counts) <= most
    assert len(counts) <= max(6 * 120 // most, 1)


@pytest.mark.parametrize("option", ["minPartitions", "maxRecordsPerPartition"])
@pytest.mark.parametrize("text", ["0", "-1", "many", "1e3", ""])
def test_numbers_of_tasks_and_records_are_whole(option: str, text: str) -> None:
    with pytest.raises(NotAllowedError, match=f"option {option} of kafka-log cannot be .*a whole number"):
        SourceOptions.of({"path": "/a", option.lower(): text})


def test_one_thing_is_not_said_twice() -> None:
    with pytest.raises(NotAllowedError, match="either this option or topics, not both"):
        SourceOptions.of({"path": "/a", "subscribe": "a", "topics": "b"})
