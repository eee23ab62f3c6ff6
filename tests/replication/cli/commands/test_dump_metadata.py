"""`epochlog dump --records` on the logs and snapshots of a cluster's metadata."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from replication.records.metadata.framing import encode
from replication.records.metadata.records import (
    PartitionChangeRecord,
    TopicRecord,
    UnregisterControllerRecord,
    UserScramCredentialRecord,
)
from tests.data.replicas import HERE
from tests.replication.cli.command import epochlog

KEPT = (HERE / "metadata", HERE / "metadata-4.4.0")
TOPIC = TopicRecord(name="orders", topic_id=UUID(int=7))
CHANGE = PartitionChangeRecord(partition_id=1, topic_id=UUID(int=7), isr=(1, 2), leader=2)
PLACE = "timestamp: 1000 api_key"


def written(directory: Path, *values: bytes | None) -> Path:
    """Write a metadata log of one batch."""
    path = directory / "__cluster_metadata-0/00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(encode_batch([Record(-1, 1_000, None, value) for value in values], BatchTemplate(leader_epoch=3)))
    return path


def test_records_say_what_they_set_and_nothing_else(tmp_path: Path) -> None:
    path = written(tmp_path, encode(TOPIC), encode(CHANGE), encode(UnregisterControllerRecord(controller_id=102)))
    assert epochlog("dump", path, "--records").out.splitlines()[1:] == [
        f"| offset: 0 {PLACE}: 2 version: 0 type: TOPIC_RECORD name: orders topic_id: AAAAAAAAAAAAAAAAAAAABw",
        (
            f"| offset: 1 {PLACE}: 5 version: 2 type: PARTITION_CHANGE_RECORD partition_id: 1 "
            "topic_id: AAAAAAAAAAAAAAAAAAAABw isr: [1, 2] leader: 2"
        ),
        f"| offset: 2 {PLACE}: 29 version: 0 type: UNREGISTER_CONTROLLER_RECORD controller_id: 102",
    ]


def test_records_are_objects_with_json(tmp_path: Path) -> None:
    secret = UserScramCredentialRecord(
        name="alice", mechanism=1, salt=b"salt", stored_key=b"\xff", server_key=b"", iterations=4096
    )
    path = written(tmp_path, encode(CHANGE), encode(secret))
    lines = [json.loads(line) for line in epochlog("dump", path, "--records", "--json").out.splitlines()]
    change, credential = (line for line in lines if line["kind"] == "metadata_record")
    assert change == {
        "schema_version": 1,
        "file": str(path),
        "kind": "metadata_record",
        "offset": 0,
        "timestamp": 1000,
        "api_key": 5,
        "version": 2,
        "type": "PARTITION_CHANGE_RECORD",
        "partition_id": 1,
        "topic_id": "AAAAAAAAAAAAAAAAAAAABw",
        "isr": [1, 2],
        "leader": 2,
    }
    assert (credential["salt"], credential["stored_key_base64"]) == ("salt", "/w==")


def test_records_of_a_later_kafka_are_printed_as_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, b"\x01\x63\x03abc", b"\x02abc", encode(TOPIC))
    ran = epochlog("dump", path, "--records")
    assert ran.status == 0
    assert ran.out.splitlines()[1:3] == [
        rf"| offset: 0 {PLACE}: 99 version: 3 value: \x01c\x03abc",
        r"| offset: 1 timestamp: 1000 value: \x02abc",
    ]
    assert "TOPIC_RECORD" in ran.out


def test_records_that_cannot_be_read_are_damage_and_the_rest_is_printed(tmp_path: Path) -> None:
    path = written(tmp_path, encode(CHANGE)[:-1], None, encode(TOPIC))
    ran = epochlog("dump", path, "--records")
    assert ran.status == 1
    first, second, topic = ran.out.splitlines()[1:]
    assert first.startswith(f"damage: {path}: PARTITION_CHANGE_RECORD in version 2 cannot be read")
    assert first.endswith("at position 0, offset 0")
    assert second.startswith(f"damage: {path}: not a metadata record")
    assert "type: TOPIC_RECORD" in topic


def test_offsets_limit_what_is_printed(tmp_path: Path) -> None:
    path = written(tmp_path, *(encode(TOPIC) for _ in range(4)))
    printed = epochlog("dump", path, "--records", "--offsets", "1:3").out
    assert [line.split(" timestamp")[0] for line in printed.splitlines()[1:]] == ["| offset: 1", "| offset: 2"]


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.name)
def test_a_real_controllers_log_and_snapshots_have_no_record_that_is_not_known(kept: Path) -> None:
    snapshots = sorted(kept.rglob("*.checkpoint"))
    assert len(snapshots) == 2, "what it was formatted with, and what a broker made"
    for path, first in (
        (kept / "__cluster_metadata-0/00000000000000000000.log", "leader_change version: 0 leader_id: 100 voters: "),
        *((path, "snapshot_header version: 0 last_contained_log_timestamp: ") for path in snapshots),
    ):
        ran = epochlog("dump", path, "--records")
        records = [line for line in ran.out.splitlines() if line.startswith("| ")]
        assert ran.status == 0
        assert first in records[0]
        assert all(" type: " in line or " control_type: " in line for line in records)
        assert " value: " not in "".join(
            line for line in records if "CONFIG_RECORD" not in line and "QUOTA" not in line
        )
