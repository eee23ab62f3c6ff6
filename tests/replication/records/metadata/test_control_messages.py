"""Control records of metadata logs become bytes and come back; damaged ones give our errors alone."""

from contextlib import suppress
from uuid import UUID

import pytest

from logstore.batch.record import Record
from replication.records.metadata.control_messages import decode_control, encode_control
from replication.records.metadata.errors import InvalidMetadataRecordError
from replication.records.metadata.records.control import (
    ControlMessage,
    ElectionVoter,
    KRaftVersion,
    KRaftVersionRange,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    VoterEndpoint,
    Voters,
)

MESSAGES: tuple[ControlMessage, ...] = (
    SnapshotHeader(last_contained_log_timestamp=7),
    SnapshotFooter(),
    KRaftVersion(k_raft_version=1),
    LeaderChange(version=0, leader_id=1, voters=(ElectionVoter(voter_id=1),), granting_voters=()),
    Voters(
        voters=(
            Voter(
                voter_id=1,
                voter_directory_id=UUID(int=9),
                endpoints=(VoterEndpoint(name="CONTROLLER", host="one", port=9093),),
                k_raft_version_feature=KRaftVersionRange(min_supported_version=0, max_supported_version=1),
            ),
        )
    ),
)


def control(message: ControlMessage, value: bytes) -> Record:
    return Record.of(value, encode_control(message, 0).key)


def value_of(message: ControlMessage) -> bytes:
    return encode_control(message, 0).value or b""


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_a_message_reads_as_what_was_written(message: ControlMessage) -> None:
    assert decode_control(encode_control(message, 0)) == message


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_a_message_that_is_cut_or_goes_on_is_refused(message: ControlMessage) -> None:
    value = value_of(message)
    for damaged in (*(value[:size] for size in range(2, len(value))), value + b"\x00"):
        with pytest.raises(InvalidMetadataRecordError, match=type(message).__name__):
            decode_control(control(message, damaged))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_a_changed_byte_gives_our_error_or_a_message(message: ControlMessage) -> None:
    value = value_of(message)
    for place in range(len(value)):
        for byte in range(256):
            with suppress(InvalidMetadataRecordError):
                decode_control(control(message, value[:place] + bytes([byte]) + value[place + 1 :]))
