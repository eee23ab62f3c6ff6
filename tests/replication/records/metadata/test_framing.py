"""Records become bytes and come back, version by version; whatever else is read gives our errors alone."""

import random
from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.records.metadata.errors import InvalidMetadataRecordError, MetadataError, UnknownMetadataRecordError
from replication.records.metadata.framing import decode, encode, encode_version, read_frame
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, MetadataVersion
from replication.records.metadata.records import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    UnregisterControllerRecord,
)
from tests.campaign import Campaign
from tests.replication.records.metadata.random_records import EVERY_VERSION, random_record

TOPIC = UUID(int=7 << 64)
CHANGE = PartitionChangeRecord(partition_id=1, topic_id=TOPIC, isr=(1, 2), leader=2)


@pytest.mark.parametrize(("kind", "version"), EVERY_VERSION, ids=lambda each: getattr(each, "__name__", each))
@given(seed=st.integers())
@settings(max_examples=30)
def test_every_version_of_a_record_reads_as_what_was_written(
    kind: type[MetadataRecord], version: int, seed: int
) -> None:
    record = random_record(kind, version, random.Random(seed))
    value = encode_version(record, version)
    assert decode(value) == record
    assert read_frame(value)[:2] == (kind.API_KEY, version)


def test_a_change_of_a_partition_says_only_what_changes() -> None:
    isr_and_leader = "020009030000000100000002010400000002"
    assert encode(CHANGE).hex() == "010502" + "00000001" + TOPIC.hex + isr_and_leader
    assert encode_version(NoOpRecord(), 0) == b"\x01\x14\x00\x00"


def test_the_end_of_a_controllers_registration_has_the_bytes_that_kafka_4_4_writes() -> None:
    assert encode(UnregisterControllerRecord(controller_id=102)).hex() == "011d000000006600"


@pytest.mark.parametrize(
    ("level", "versions"),
    [
        (MetadataVersion.V3_0_IV1, (0, 0, 0)),
        (MetadataVersion.V3_3_IV3, (1, 0, 0)),
        (MetadataVersion.V3_4_IV0, (2, 0, 0)),
        (MetadataVersion.V3_7_IV1, (2, 0, 0)),
        (MetadataVersion.V3_7_IV2, (3, 1, 1)),
        (MetadataVersion.V4_0_IV1, (3, 2, 2)),
        (LATEST_METADATA_VERSION, (4, 2, 2)),
        (LATEST_METADATA_VERSION + 1, (4, 2, 2)),
    ],
)
def test_the_level_of_metadata_version_decides_the_versions_of_records(level: int, versions: tuple[int, ...]) -> None:
    written = (
        RegisterBrokerRecord(broker_id=1, incarnation_id=TOPIC, broker_epoch=1),
        PartitionRecord(
            partition_id=0, topic_id=TOPIC, replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
        ),
        CHANGE,
    )
    assert tuple(read_frame(encode(record, level)).version for record in written) == versions


def test_a_brokers_change_is_written_in_the_lowest_version_that_can_say_it() -> None:
    said = [{"fenced": 1}, {"in_controlled_shutdown": 1}, {"log_dirs": (TOPIC,)}, {"cordoned_log_dirs": ()}]
    changes = [BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, **each) for each in said]
    assert [read_frame(encode(change)).version for change in changes] == [0, 1, 2, 3]


def test_what_a_version_cannot_say_is_not_written() -> None:
    change = PartitionChangeRecord(partition_id=1, topic_id=TOPIC, eligible_leader_replicas=(1,))
    with pytest.raises(InvalidMetadataRecordError, match="version 1: this version has no eligible_leader_replicas"):
        encode(change, MetadataVersion.V3_9_IV0)


@pytest.mark.parametrize("topic", [TopicRecord(name=None, topic_id=TOPIC), TopicRecord(name="\udc80", topic_id=TOPIC)])  # type: ignore[arg-type]
def test_what_does_not_fit_its_type_is_not_written(topic: TopicRecord) -> None:
    with pytest.raises(InvalidMetadataRecordError, match="TOPIC_RECORD cannot be written in version 0"):
        encode(topic)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"\x01\x63\x03\x00", "API key 99 in version 3"),
        (b"\x01\x06\x00\x00", "API key 6 in version 0"),
        (b"\x01\x05\x03\x00", r"PARTITION_CHANGE_RECORD \(API key 5\) in version 3, of which only 0 to 2 are known"),
        (b"\x02\x05\x02\x00", "frame version 2, of which only 1 is known"),
    ],
)
def test_what_a_later_kafka_has_brought_is_named(value: bytes, told: str) -> None:
    with pytest.raises(UnknownMetadataRecordError, match=told) as caught:
        decode(value)
    placed = caught.value.with_position(file="x.log", position=10, offset=77)
    assert str(placed).startswith("x.log: ")
    assert (placed.file, placed.position, placed.offset) == ("x.log", 10, 77)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"\x01",
        b"\x01\x14\x00",
        b"\x01\x14\x00\x00\x00",
        b"\x01\xff\xff\xff\xff\xff\x01\x00",
        b"\x01\x80\x80\x02\x00",
        b"\x01\x02\x00\x00" + bytes(17),  # a name that is null
        b"\x01\x02\x00\x02\xff" + bytes(17),  # a name that is not UTF-8
        b"\x01\x02\x00\xff\xff\xff\xff\x0f" + bytes(17),  # a name longer than the record
        encode(CHANGE)[:-1],
        encode(CHANGE) + b"\x00",
        encode(CHANGE)[:-5] + b"\x05" + bytes(5),  # a tag larger than its field
        encode(CHANGE)[:-5] + b"\x03" + bytes(4),  # and one smaller
    ],
)
def test_what_is_no_record_is_refused(value: bytes | None) -> None:
    with pytest.raises(InvalidMetadataRecordError):
        decode(value)


def test_tags_of_a_later_kafka_are_passed_over() -> None:
    plain = encode(NoOpRecord())
    assert decode(plain[:-1] + b"\x01\x63\x02ab") == NoOpRecord()


def test_damaged_records_gives_our_errors_alone() -> None:
    campaign = Campaign("metadata-fuzz", full=500_000, share=5_000)
    chance = random.Random(campaign.seed)
    samples = [encode_version(random_record(*each, chance), each[1]) for each in EVERY_VERSION for _ in range(3)]
    outcomes = Counter(
        read_anything(mutated(chance.choice(samples), chance.choice(samples), chance)) for _ in range(campaign.count)
    )
    campaign.report(campaign.count, ", ".join(f"{count:,} {name}" for name, count in outcomes.items()))
    assert set(outcomes) == {"read", "InvalidMetadataRecordError", "UnknownMetadataRecordError"}


def read_anything(value: bytes) -> str:
    """Read what may be damaged; what can be read can be written."""
    try:
        record = decode(value)
    except MetadataError as error:
        return type(error).__name__
    version = read_frame(value).version
    again = encode_version(record, version)
    assert encode_version(decode(again), version) == again  # not the records: a quota may be NaN
    return "read"


def mutated(value: bytes, other: bytes, chance: random.Random) -> bytes:
    """Flip, cut, splice or overwrite some of a record."""
    data = bytearray(value)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0 if place < len(data):
                data[place] ^= 1 << chance.randrange(8)
            case 1 if place:
                del data[place:]
            case 2:
                data[place : place + chance.randrange(6)] = other[chance.randrange(len(other)) :]
            case 3:
                data[place : place + 5] = b"\xff\xff\xff\xff\x0f"
            case _ if place < len(data):
                data[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
    return bytes(data)
