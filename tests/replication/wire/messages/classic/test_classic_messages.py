"""The messages of the ZooKeeper era beside those of Kafka 3.9.2: the same bytes for the same values, both ways."""

import json
import random
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Any
from uuid import UUID

import pytest

from logstore import TopicPartition
from replication.records.codec.codec import codec_of
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedRequestError, MalformedResponseError
from replication.wire.messages.apis import api_of, api_with
from replication.wire.messages.classic import controlled_shutdown, leader_and_isr, stop_replica, update_metadata
from replication.wire.messages.classic.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from replication.wire.messages.classic.leader_and_isr import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LedPartition,
    LiveLeader,
)
from replication.wire.messages.classic.stop_replica import StoppedReplica, StopReplicaRequest, StopReplicaResponse
from replication.wire.messages.classic.update_metadata import (
    AdvertisedEndpoint,
    KnownPartition,
    LiveBroker,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from replication.wire.messages.form import Form
from tests.campaign import run_seed
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KAFKA_3_9

EXAMPLES = 25
"""Of each message, in each version."""
TOPIC_IDS = {name: UUID(int=number + 1) for number, name in enumerate(("orders", "payments", "a.b-c_d"))}
SPELLED = {"is_kraft_controller": "isKRaftController", "error": "error_code"}
ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 3)
ERRORS = (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.STALE_CONTROLLER_EPOCH)


class Randomly:
    """Random values of the messages, those of each topic one after another."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)

    def int32(self) -> int:
        return self.rng.choice([0, 1, -1, -2, 2**31 - 1, -(2**31), self.rng.randrange(2**31)])

    def int64(self) -> int:
        return self.rng.choice([-1, 0, 2**63 - 1, self.rng.randrange(2**63)])

    def ids(self) -> tuple[int, ...]:
        return tuple(self.int32() for _ in range(self.rng.randrange(4)))

    def partitions(self) -> list[TopicPartition]:
        topics = self.rng.sample(sorted(TOPIC_IDS), self.rng.randrange(4))
        return [TopicPartition(topic, each) for topic in topics for each in range(self.rng.randint(1, 3))]

    def leader_and_isr(self) -> LeaderAndIsrRequest:
        states = {each: self._led() for each in self.partitions()}
        leaders = tuple(LiveLeader(self.int32(), "host", self.int32()) for _ in range(self.rng.randrange(3)))
        return LeaderAndIsrRequest(
            **self._start(), partitions=states, live_leaders=leaders, topic_ids=self._ids_of(states)
        )

    def stop_replica(self) -> StopReplicaRequest:
        delete = self.rng.choice([True, False])
        stopped = {each: StoppedReplica(self.int32(), delete) for each in self.partitions()}
        return StopReplicaRequest(**self._start(), partitions=stopped)

    def update_metadata(self) -> UpdateMetadataRequest:
        known = {each: self._known() for each in self.partitions()}
        brokers = tuple(self._broker() for _ in range(self.rng.randrange(3)))
        return UpdateMetadataRequest(
            **self._start(), partitions=known, live_brokers=brokers, topic_ids=self._ids_of(known)
        )

    def controlled_shutdown(self) -> ControlledShutdownRequest:
        return ControlledShutdownRequest(broker_id=self.int32(), broker_epoch=self.int64())

    def leader_and_isr_answer(self) -> LeaderAndIsrResponse:
        errors = self._errors()
        return LeaderAndIsrResponse(error=self.rng.choice(ERRORS), errors=errors, topic_ids=self._ids_of(errors))

    def stop_replica_answer(self) -> StopReplicaResponse:
        return StopReplicaResponse(error=self.rng.choice(ERRORS), errors=self._errors())

    def update_metadata_answer(self) -> UpdateMetadataResponse:
        return UpdateMetadataResponse(error=self.rng.choice(ERRORS))

    def controlled_shutdown_answer(self) -> ControlledShutdownResponse:
        return ControlledShutdownResponse(error=self.rng.choice(ERRORS), remaining=tuple(self.partitions()))

    def _start(self) -> dict[str, int]:
        return {
            "controller_id": self.int32(),
            "controller_epoch": self.int32(),
            "broker_epoch": self.int64(),
        }

    def _led(self) -> LedPartition:
        return LedPartition(
            controller_epoch=self.int32(),
            leader=self.int32(),
            leader_epoch=self.int32(),
            isr=self.ids(),
            partition_epoch=self.int32(),
            replicas=self.ids(),
            adding_replicas=self.ids(),
            removing_replicas=self.ids(),
            is_new=self.rng.choice([True, False]),
            leader_recovery_state=self.rng.randrange(2),
        )

    def _known(self) -> KnownPartition:
        return KnownPartition(
            controller_epoch=self.int32(),
            leader=self.int32(),
            leader_epoch=self.int32(),
            isr=self.ids(),
            zk_version=self.int32(),
            replicas=self.ids(),
            offline_replicas=self.ids(),
        )

    def _broker(self) -> LiveBroker:
        endpoint = AdvertisedEndpoint(self.int32(), "host", "PLAINTEXT", self.rng.randrange(4))
        return LiveBroker(self.int32(), (endpoint,) * self.rng.randrange(3), self.rng.choice([None, "rack"]))

    def _errors(self) -> dict[TopicPartition, ErrorCode]:
        return {each: self.rng.choice(ERRORS) for each in self.partitions()}

    def _ids_of(self, partitions: Any) -> dict[str, UUID]:
        return {topic: TOPIC_IDS[topic] for topic in dict.fromkeys(topic for topic, _ in partitions)}


MESSAGES: list[tuple[Any, Form[Any], range, Callable[[Randomly], Any]]] = [
    (leader_and_isr, leader_and_isr.REQUEST, leader_and_isr.VERSIONS, Randomly.leader_and_isr),
    (stop_replica, stop_replica.REQUEST, stop_replica.VERSIONS, Randomly.stop_replica),
    (update_metadata, update_metadata.REQUEST, update_metadata.VERSIONS, Randomly.update_metadata),
    (controlled_shutdown, controlled_shutdown.REQUEST, controlled_shutdown.VERSIONS, Randomly.controlled_shutdown),
    (leader_and_isr, leader_and_isr.RESPONSE, leader_and_isr.VERSIONS, Randomly.leader_and_isr_answer),
    (stop_replica, stop_replica.RESPONSE, stop_replica.VERSIONS, Randomly.stop_replica_answer),
    (update_metadata, update_metadata.RESPONSE, update_metadata.VERSIONS, Randomly.update_metadata_answer),
    (
        controlled_shutdown,
        controlled_shutdown.RESPONSE,
        controlled_shutdown.VERSIONS,
        Randomly.controlled_shutdown_answer,
    ),
]
CASES = [(form, version, make) for _, form, versions, make in MESSAGES for version in versions]


@pytest.fixture(scope="module")
def kafka() -> Iterator[JavaProgram]:
    with JavaProgram(KAFKA_3_9, "MessageOracle") as program:
        yield program


def name_of(case: Any) -> str:
    form, version, _ = case
    return f"{form.name}-v{version}"


def examples(case: Any) -> list[Any]:
    _, _, make = case
    randomly = Randomly(f"{run_seed()} {name_of(case)}")
    return [make(randomly) for _ in range(EXAMPLES)]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_kafka_reads_the_values_that_we_write(kafka: JavaProgram, case: Any) -> None:
    form, version, _ = case
    sent = examples(case)
    read = kafka.ask(*(f"decode {form.name} {version} {form.write(each, version).hex()}" for each in sent))
    assert [json.loads(each) for each in read] == [in_json(form.encode(each, version), version) for each in sent]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_kafka_writes_the_bytes_that_we_do_and_we_read_them(kafka: JavaProgram, case: Any) -> None:
    form, version, _ = case
    for each in examples(case):
        told = json.dumps(in_json(form.encode(each, version), version))
        (answer,) = kafka.ask(f"encode {form.name} {version} {told}")
        data = bytes.fromhex(answer)
        assert data == form.write(each, version)
        assert form.write(form.read(data, version), version) == data


@pytest.mark.parametrize(("module", "form", "versions", "make"), MESSAGES, ids=lambda each: getattr(each, "name", ""))
def test_the_last_version_loses_nothing(
    module: Any, form: Form[Any], versions: range, make: Callable[[Randomly], Any]
) -> None:
    del module
    randomly = Randomly(f"{run_seed()} {form.name}")
    for _ in range(EXAMPLES):
        message = make(randomly)
        read = form.read(form.write(message, versions[-1]), versions[-1])
        if isinstance(read, LeaderAndIsrResponse):
            read = leader_and_isr.named(read, {topic_id: name for name, topic_id in TOPIC_IDS.items()})
        assert read == message


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_what_is_cut_short_is_malformed(case: Any) -> None:
    form, version, _ = case
    data = form.write(examples(case)[0], version)
    for size in range(len(data)):
        with pytest.raises((MalformedRequestError, MalformedResponseError), match=form.name):
            form.read(data[:size], version)


def test_a_request_that_deletes_some_and_not_others_needs_version_3() -> None:
    mixed = StopReplicaRequest(
        controller_id=1,
        controller_epoch=1,
        partitions={ORDERS: StoppedReplica(5, delete=True), PAYMENTS: StoppedReplica(5)},
    )
    assert api_of(mixed).versions(mixed) == range(3, 5)
    assert stop_replica.REQUEST.read(stop_replica.REQUEST.write(mixed, 3), 3).partitions == mixed.partitions


def test_an_answer_by_topic_ids_has_the_names_of_the_request() -> None:
    asked = LeaderAndIsrRequest(
        controller_id=1,
        controller_epoch=1,
        partitions={ORDERS: LedPartition(1, 2, 3, (2,), 4, (2, 3))},
        topic_ids={"orders": TOPIC_IDS["orders"]},
    )
    failed = LeaderAndIsrResponse(errors={ORDERS: ErrorCode.KAFKA_STORAGE_ERROR}, topic_ids=dict(asked.topic_ids))
    api = api_with(leader_and_isr.API_KEY)
    assert api is not None
    assert api.read_answer(asked, leader_and_isr.RESPONSE.write(failed, 7), 7) == failed


def in_json(fields: Any, version: int) -> Any:
    """Return fields as Kafka writes them in JSON: those that the version has."""
    if is_dataclass(fields) or hasattr(fields, "_fields"):
        said = codec_of(type(fields), version).fields(fields)
        return {_camel(name): in_json(value, version) for name, value in said.items()}
    if isinstance(fields, tuple):
        return [in_json(each, version) for each in fields]
    if isinstance(fields, UUID):
        return urlsafe_b64encode(fields.bytes).decode().rstrip("=")
    return int(fields) if isinstance(fields, ErrorCode) else fields


def _camel(name: str) -> str:
    first, *others = SPELLED.get(name, name).split("_")
    return first + "".join(each.capitalize() for each in others)
