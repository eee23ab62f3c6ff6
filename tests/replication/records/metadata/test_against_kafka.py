"""Kafka's own records and images beside ours: field by field, byte by byte, state by state."""

import base64
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from logstore.log.log import Log
from logstore.offline.log_file import LogFile
from replication.records.metadata.description import describe
from replication.records.metadata.framing import decode, encode, encode_version
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import load_image
from replication.records.metadata.metadata_log import append_metadata
from replication.records.metadata.metadata_version import MetadataVersion, record_version
from replication.records.metadata.records import (
    RECORD_TYPES,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    UnregisterControllerRecord,
)
from replication.records.metadata.records.control import KRaftVersion
from replication.records.metadata.snapshot import MetadataSnapshot, write_snapshot
from tests.campaign import Campaign
from tests.oracle.cluster import KafkaCluster
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.records.metadata.histories import history
from tests.replication.records.metadata.random_records import EVERY_VERSION, random_record
from tests.replication.records.metadata.test_real_cluster import KEPT

BROKER = RegisterBrokerRecord(broker_id=1, incarnation_id=UUID(int=1), broker_epoch=1)
PARTITION = PartitionRecord(
    partition_id=0, topic_id=UUID(int=2), replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
)
CHANGE = PartitionChangeRecord(partition_id=0, topic_id=UUID(int=2))
NEW_IN_4_4 = (UnregisterControllerRecord,)
"""Which types of records Kafka 4.3 cannot read."""


def known_to(release: KafkaRelease) -> list[type[MetadataRecord]]:
    """Return the types of records of a release."""
    lacks = NEW_IN_4_4 if release.is_before_4_4 else ()
    return [kind for kind in RECORD_TYPES.values() if kind not in lacks]


@pytest.fixture(scope="module")
def kafka(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "MetadataOracle") as program:
        yield program


def test_kafka_reads_every_version_of_a_record_as_it_was_meant_and_writes_the_same_bytes(kafka: JavaProgram) -> None:
    campaign = Campaign("metadata-records", full=100_000, share=2_000)
    chance = random.Random(campaign.seed)
    known = [each for each in EVERY_VERSION if each[0] in known_to(kafka.release)]
    for first in range(0, campaign.count, 20):
        versions = [chance.choice(known) for _ in range(first, min(first + 20, campaign.count))]
        records = [(random_record(kind, version, chance), version) for kind, version in versions]
        values = [encode_version(*each).hex() for each in records]
        answers = kafka.ask(*(f"{command} {value}" for value in values for command in ("decode", "recode")))
        for (record, version), value, told, written in zip(records, values, answers[::2], answers[1::2], strict=True):
            name, number, fields = told.split(" ", 2)
            assert (name, int(number)) == (record.type_name(), version)
            assert json.loads(fields) == as_kafka_says_it(record, version)
            assert written == value
    campaign.report(campaign.count, beside=kafka.release)


def test_every_type_and_version_of_a_record_is_known_and_each_level_has_the_same_versions(kafka: JavaProgram) -> None:
    types, levels = kafka.ask("types", "levels")
    assert types.split(",") == [
        f"{kind.type_name()}:{kind.API_KEY}:{kind.LATEST_VERSION}"
        for kind in sorted(known_to(kafka.release), key=lambda kind: kind.API_KEY)
    ]
    assert levels.split(",") == [
        f"{name_of(level)}:{level}:{record_version(BROKER, level)}:{record_version(PARTITION, level)}"
        f":{record_version(CHANGE, level)}"
        for level in MetadataVersion
        if MetadataVersion.V3_3_IV3 <= level <= kafka.release.metadata_version
    ]


def name_of(level: MetadataVersion) -> str:
    """Name a level as Kafka prints it: 4.4-IV2."""
    return level.name.removeprefix("V").replace("_IV", "-IV").replace("_", ".")


def test_what_is_new_in_4_4_is_an_error_to_4_3(kafka: JavaProgram) -> None:
    (told,) = kafka.ask("decode " + encode(UnregisterControllerRecord(controller_id=102)).hex())
    if kafka.release.is_before_4_4:
        assert told.startswith("ERR MetadataParseException")
    else:
        assert told == 'UNREGISTER_CONTROLLER_RECORD 0 {"controllerId":102}'


def test_kafka_replays_a_history_into_the_same_image(kafka: JavaProgram) -> None:
    campaign = Campaign("metadata-images", full=5_000, share=60)
    for number in range(campaign.count):
        made = history((campaign.seed, number), steps=60, level=kafka.release.metadata_version)
        (answer,) = kafka.ask("image " + ",".join(encode(record).hex() for record in made.records))
        image = ClusterImage()
        image.replay_all(decode(bytes.fromhex(value)) for value in answer.split(","))
        assert image == made.image, f"history(({campaign.seed}, {number}), 60, {kafka.release.metadata_version})"
    campaign.report(campaign.count, beside=kafka.release)


def test_kafkas_tool_reads_our_log_and_our_snapshot(release: KafkaRelease, tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    made = history("for Kafka's tool", steps=150, level=release.metadata_version)
    with Log.open(directory) as log:
        for record in made.records:
            append_metadata(log, [record], leader_epoch=3, timestamp=1_000)
    loaded = load_image(directory)
    assert loaded == (made.image, len(made.records), 3)
    snapshot = write_snapshot(
        directory,
        loaded.image,
        end_offset=loaded.end_offset,
        epoch=loaded.epoch,
        last_contained_log_timestamp=1_000,
        quorum=[KRaftVersion(k_raft_version=0)],
    )
    assert dumped(release, next(directory.glob("*.log"))) == [payload(record) for record in made.records]
    assert dumped(release, snapshot.path) == [payload(record) for record in loaded.image.records()]
    again = ClusterImage()
    again.replay_all(MetadataSnapshot.latest(directory).records())  # type: ignore[union-attr]
    assert again == made.image


def test_kafkas_tool_says_of_a_real_controllers_log_what_we_say(release: KafkaRelease) -> None:
    directory = KEPT[release] / "__cluster_metadata-0"
    for path in (directory / "00000000000000000000.log", MetadataSnapshot.latest(directory).path):  # type: ignore[union-attr]
        with LogFile.open(path) as log:
            values = [each.value or b"" for batch in log.batches() if not batch.is_control for each in batch.records()]
        assert dumped(release, path) == [payload(decode(value), value[2]) for value in values]


def dumped(release: KafkaRelease, path: Path) -> list[dict[str, Any]]:
    """Let Kafka's tool print the records of a file."""
    told = KafkaCluster(path.parent, release).run_tool(
        "org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", path
    )
    assert "SnapshotHeader" in told or path.suffix != ".checkpoint"
    return [json.loads(line) for line in re.findall(r"payload: (\{.*\})$", told, re.MULTILINE)]


def payload(record: MetadataRecord, version: int | None = None) -> dict[str, Any]:
    """Say a record as Kafka's tool prints it."""
    version = encode(record)[2] if version is None else version
    return {"type": record.type_name(), "version": version, "data": as_kafka_says_it(record, version)}


def as_kafka_says_it(record: MetadataRecord, version: int) -> Any:
    """Give our description Kafka's names: camel case, and bytes in base64."""
    return camel(describe(record, version))


def camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub(r"_(.)", lambda match: match[1].upper(), name): camel(each) for name, each in value.items()}
    if isinstance(value, list):
        return [camel(each) for each in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
