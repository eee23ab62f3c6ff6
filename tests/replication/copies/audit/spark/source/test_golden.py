"""Every batch and record of every replica that ships is as Kafka's own DumpLogSegments prints it, byte by byte."""

import json
import struct
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from logstore.batch.batch_attributes import DELETE_HORIZON_BIT, LAST_SEQUENCE, TIMESTAMP_TYPE_BIT
from logstore.batch.control import ControlType
from tests.data.replicas import LABELS, PROJECT, replicas
from tests.oracle.log_dump import Printed, dump_files
from tests.oracle.release import KafkaRelease

PlaceOfFile = tuple[str, str, int, int]
"""Replica, topic, partition, and base offset of the segment."""
PARTITIONS: Final = [
    *(f"{topic}-0" for topic in ("__transaction_state", "codecs", "compacted", "diverge", "hwloss", "txns")),
    *(f"orders-{number}" for number in range(3)),
    *("ledger-0", "payments-0", "steady-0", "steady-1", "__consumer_offsets-0", "__cluster_metadata-0"),
]


def roots() -> dict[str, Path]:
    """The roots by the names that they are loaded under."""
    brokers = {
        f"{label}-{root.name}": root for label in LABELS for root in sorted(replicas(label).iterdir()) if root.is_dir()
    }
    return {**brokers, "offsets": PROJECT / "tests/data/consumer-offsets", "metadata": PROJECT / "tests/data/metadata"}


@dataclass(frozen=True)
class Golden:
    """What is in each file, as Kafka's tool prints it and as Spark has it."""

    batches: dict[PlaceOfFile, list[Printed]]
    records: dict[PlaceOfFile, list[Printed]]
    batch_rows: dict[PlaceOfFile, list[dict[str, Any]]]
    record_rows: dict[PlaceOfFile, list[dict[str, Any]]]

    def places(self, partition: str) -> list[PlaceOfFile]:
        return [place for place in self.batches if f"{place[1]}-{place[2]}" == partition]


@pytest.fixture(scope="module")
def golden(spark: SparkSession, release: KafkaRelease) -> Golden:
    files = {place_of(name, file): file for name, root in roots().items() for file in sorted(root.glob("*/*.log"))}
    dumped = dump_files(release, files.values())
    batches = {place: dumped[file].batches for place, file in files.items()}
    records = {place: dumped[file].records for place, file in files.items()}
    return Golden(batches, records, rows(spark, "batches"), rows(spark, "records"))


def place_of(name: str, file: Path) -> PlaceOfFile:
    topic, partition = file.parent.name.rsplit("-", 1)
    return name, topic, int(partition), int(file.stem)


def rows(spark: SparkSession, kind: str) -> dict[PlaceOfFile, list[dict[str, Any]]]:
    reader = (
        spark.read.format("kafka-log").option("rows", kind).option("mode", "FAILFAST").option("taskBytes", "2000000")
    )
    found = reader.load([f"{name}={root}" for name, root in roots().items()]).toArrow().to_pylist()
    by_place = lambda row: (row["replica"], row["topic"], row["partition"], row["segment"])  # noqa: E731
    in_order = sorted(found, key=lambda row: (*by_place(row), row["position"], row.get("offset", 0)))
    return {place: list(group) for place, group in groupby(in_order, by_place)}


def shown_batch(row: dict[str, Any]) -> Printed:
    """Write a row as the tool writes it."""
    base_sequence, last_delta = row["base_sequence"], row["last_offset"] - row["base_offset"]
    last_sequence = -1 if base_sequence < 0 else base_sequence + last_delta & LAST_SEQUENCE
    has_horizon = row["attributes"] & DELETE_HORIZON_BIT
    return {
        "baseOffset": str(row["base_offset"]),
        "lastOffset": str(row["last_offset"]),
        "count": str(row["record_count"]),
        "baseSequence": str(base_sequence),
        "lastSequence": str(last_sequence),
        "producerId": str(row["producer_id"]),
        "producerEpoch": str(row["producer_epoch"]),
        "partitionLeaderEpoch": str(row["leader_epoch"]),
        "isTransactional": str(row["is_transactional"]).lower(),
        "isControl": str(row["is_control"]).lower(),
        "deleteHorizonMs": f"OptionalLong[{row['base_timestamp']}]" if has_horizon else "OptionalLong.empty",
        "position": str(row["position"]),
        "LogAppendTime" if row["attributes"] & TIMESTAMP_TYPE_BIT else "CreateTime": str(row["max_timestamp"]),
        "size": str(row["size"]),
        "magic": str(row["magic"]),
        "compresscodec": row["codec"],
        "crc": str(row["crc"]),
        "isvalid": str(row["crc_valid"]).lower(),
    }


def shown_record(row: dict[str, Any]) -> Printed:
    key, value = row["key"], row["value"]
    names = ",".join(header["key"] for header in row["headers"] or ())
    return {
        "offset": str(row["offset"]),
        "LogAppendTime" if row["timestampType"] else "CreateTime": str(row["timestamp_ms"]),
        "keySize": str(-1 if key is None else len(key)),
        "valueSize": str(-1 if value is None else len(value)),
        "sequence": str(row["sequence"]),
        "headerKeys": f"[{names}]",
        **(shown_control(row) if row["is_control"] else shown_content(row)),
    }


def shown_control(row: dict[str, Any]) -> Printed:
    kind, value = int.from_bytes(row["key"][2:4]), row["value"]
    if kind == ControlType.LEADER_CHANGE:
        return {"LeaderChange": leader_change(value)}
    return {
        "endTxnMarker": {ControlType.COMMIT: "COMMIT", ControlType.ABORT: "ABORT"}[ControlType(kind)],
        "coordinatorEpoch": str(int.from_bytes(value[2:6], signed=True)),
    }


def leader_change(value: bytes) -> str:
    """Write the message as JSON: of one controller, who elected itself."""
    version, leader, voters, voter, _, granting, grantor, _, _ = struct.unpack(">hiBiBBiBB", value)
    assert voters == granting == 2, "one member, in compact form"
    told = {
        "version": version,
        "leaderId": leader,
        "voters": [{"voterId": voter}],
        "grantingVoters": [{"voterId": grantor}],
    }
    return json.dumps(told, separators=(",", ":"))


def shown_content(row: dict[str, Any]) -> Printed:
    contents = {"key": row["key"], "payload": row["value"]}
    return {name: content.hex() for name, content in contents.items() if content is not None}


def test_all_partitions_that_ship_are_compared(golden: Golden) -> None:
    assert {f"{place[1]}-{place[2]}" for place in golden.batches} == set(PARTITIONS)
    assert sum(map(len, golden.records.values())) > 100_000
    assert golden.batch_rows.keys() <= golden.batches.keys()
    assert golden.record_rows.keys() == golden.batch_rows.keys()


@pytest.mark.parametrize("partition", PARTITIONS)
def test_batches_are_those_that_kafka_prints(partition: str, golden: Golden) -> None:
    for place in golden.places(partition):
        assert list(map(shown_batch, golden.batch_rows.get(place, []))) == golden.batches[place], place


@pytest.mark.parametrize("partition", PARTITIONS)
def test_records_are_those_that_kafka_prints(partition: str, golden: Golden) -> None:
    for place in golden.places(partition):
        assert list(map(shown_record, golden.record_rows.get(place, []))) == golden.records[place], place


def test_times_and_places_of_records_are_those_of_their_batches(golden: Golden) -> None:
    for place, records in golden.record_rows.items():
        heads = {row["position"]: row for row in golden.batch_rows[place]}
        for row in records:
            head = heads[row["position"]]
            assert head["base_offset"] == row["base_offset"] <= row["offset"] <= head["last_offset"]
            same = ("leader_epoch", "producer_id", "producer_epoch", "is_transactional", "is_control")
            assert [row[name] for name in same] == [head[name] for name in same]
            assert row["timestamp"].timestamp() * 1_000 == pytest.approx(row["timestamp_ms"], abs=0.1)
