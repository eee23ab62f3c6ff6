"""What a guarded broker answers over time: test_guarded_pair.py compares single answers with a real one's."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from logstore import TopicPartition
from replication.cluster.broker.authorization.authorizer import Authorizer
from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.resource_type import CLUSTER_NAME, ResourceType
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.records.metadata.records import (
    AccessControlEntryRecord,
    PartitionRecord,
    RemoveAccessControlEntryRecord,
    TopicRecord,
)
from replication.wire.error_code import ErrorCode
from replication.wire.messages import fetch, metadata
from replication.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse
from replication.wire.messages.metadata import MetadataRequest
from replication.wire.messages.produce import ProduceRequest
from replication.wire.server.call import ANONYMOUS, Call, Caller
from replication.wire.server.hang_up import HangUpError
from tests.logstore.batches import TRANSACTIONAL, batch, record
from tests.replication.cluster.broker.requests.small_broker import ORDERS, TOPIC, TOPIC_ID, call
from tests.replication.cluster.broker.requests.writing.leading import FOLLOWER, WritingBroker

TOPICS, DENIED = ResourceType.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED
OTHER = TopicPartition("other", 0)
BY_NAME = 12
MANY = FetchPartition(0, 1 << 20)


def entry(
    operation: Operation, kind: ResourceType = TOPICS, name: str = TOPIC, *, is_denied: bool = False
) -> AccessControlEntryRecord:
    """About whoever does not say who he is; each has an id of its own."""
    return AccessControlEntryRecord(
        id=UUID(int=hash((operation, kind, name, is_denied)) % 2**64),
        resource_type=kind,
        resource_name=name,
        pattern_type=3,
        principal=ANONYMOUS,
        host="*",
        operation=operation,
        permission_type=2 if is_denied else 3,
    )


class GuardedBroker(WritingBroker):
    """Leads `orders-0` and `other-0`."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.tell(TopicRecord(name=OTHER.topic, topic_id=UUID(int=8)))
        self.tell(
            PartitionRecord(
                partition_id=0,
                topic_id=UUID(int=8),
                replicas=(1,),
                isr=(1,),
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
            )
        )
        self.open(OTHER, topic_id=UUID(int=8))
        permissions = Authorizer(lambda: self.image).permissions
        self.seams = {"permissions": permissions}
        self.created: list[str] = []
        self._apis = reading_apis(
            self.partitions,
            self.cluster,
            create_topics=lambda names, _: self.created.extend(names),
            permissions=permissions,
        )
        self.append(b"a")

    def revoke(self, revoked: AccessControlEntryRecord) -> None:
        self.tell(RemoveAccessControlEntryRecord(id=revoked.id))

    def ask(self, key: int, request: Any, version: int) -> Any:
        answer = self._apis[key].answer(request, call(version))
        return answer.expire() if hasattr(answer, "expire") else answer

    def fetch(self, **asked: Any) -> FetchResponse:
        request = FetchRequest(**{"partitions": {}, "max_wait_ms": 0, **asked})
        answer: FetchResponse = self.ask(fetch.API_KEY, request, BY_NAME)
        return answer


class Session:
    """Fetches both topics again and again."""

    def __init__(self, broker: GuardedBroker, **asked: Any) -> None:
        self._broker = broker
        self._fetched = 0
        answer = broker.fetch(partitions={ORDERS: MANY, OTHER: MANY}, session_epoch=0, **asked)
        self.told, self._session_id = answer.partitions, answer.session_id

    def more(self, **asked: Any) -> Any:
        self._fetched += 1
        answer = self._broker.fetch(session_id=self._session_id, session_epoch=self._fetched, **asked)
        assert answer.error is ErrorCode.NONE
        return answer.partitions


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[GuardedBroker]:
    opened = GuardedBroker(tmp_path)
    yield opened
    opened.close()


def errors(told: Any) -> dict[TopicPartition, ErrorCode]:
    return {partition: answer.error for partition, answer in told.items()}


def test_a_session_is_told_of_what_is_denied_until_it_is_granted(broker: GuardedBroker) -> None:
    broker.tell(entry(Operation.READ))
    session = Session(broker)
    assert errors(session.told) == {ORDERS: ErrorCode.NONE, OTHER: DENIED}
    assert session.more()[OTHER].error is DENIED
    assert session.more()[OTHER].error is DENIED
    broker.tell(entry(Operation.READ, name=OTHER.topic))
    assert session.more()[OTHER].error is ErrorCode.NONE


def test_a_session_is_told_at_once_when_something_is_no_longer_granted(broker: GuardedBroker) -> None:
    granted = entry(Operation.READ, name=OTHER.topic)
    broker.tell(entry(Operation.READ), granted)
    session = Session(broker)
    session.more()
    assert OTHER not in session.more()  # nothing happens to it
    broker.revoke(granted)
    assert session.more()[OTHER].error is DENIED


def test_whoever_reads_in_a_session_cannot_go_on_in_it_as_a_replica(broker: GuardedBroker) -> None:
    broker.tell(entry(Operation.READ), entry(Operation.READ, name=OTHER.topic))
    led = broker.lead(ORDERS, FOLLOWER)
    session = Session(broker)
    session.more()
    before = led.progress_of(FOLLOWER)
    assert errors(session.more(replica_id=FOLLOWER)) == {ORDERS: DENIED, OTHER: DENIED}
    assert led.progress_of(FOLLOWER) == before


def test_a_follower_needs_the_right_to_act_for_the_cluster_and_no_other(broker: GuardedBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    broker.tell(entry(Operation.READ))
    assert broker.fetch(partitions={ORDERS: MANY}, replica_id=FOLLOWER).partitions[ORDERS].error is DENIED
    broker.tell(entry(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME))
    broker.tell(entry(Operation.READ, is_denied=True))
    assert broker.fetch(partitions={ORDERS: MANY}, replica_id=FOLLOWER).partitions[ORDERS].error is ErrorCode.NONE
    assert broker.fetch(partitions={ORDERS: MANY}).partitions[ORDERS].error is DENIED


def test_a_fetch_waits_as_it_was_permitted_and_what_is_denied_does_not_end_its_waiting(broker: GuardedBroker) -> None:
    granted = entry(Operation.READ)
    broker.tell(granted)
    asked = FetchRequest(partitions={ORDERS: FetchPartition(1, 1_000), OTHER: MANY}, max_wait_ms=60_000)
    waiting = broker._apis[fetch.API_KEY].answer(asked, call(BY_NAME))
    assert waiting.answer() is None
    broker.revoke(granted)
    assert errors(waiting.expire().partitions) == {ORDERS: ErrorCode.NONE, OTHER: DENIED}


def one_batch(*, attributes: int = 0, **header: int) -> bytes:
    return batch(records=[record(value=b"a")], attributes=attributes, **header)


def test_a_batch_is_appended_where_one_may_write_and_nowhere_else(broker: GuardedBroker) -> None:
    broker.tell(entry(Operation.WRITE))
    ends = broker.log.log_end_offset, broker.partitions[OTHER].log.log_end_offset
    both = ProduceRequest(partitions={ORDERS: one_batch(), OTHER: one_batch()}, acks=1)
    assert errors(broker.send(both, BY_NAME).partitions) == {ORDERS: ErrorCode.NONE, OTHER: DENIED}
    assert (broker.log.log_end_offset, broker.partitions[OTHER].log.log_end_offset) == (ends[0] + 1, ends[1])


def test_what_is_denied_is_told_before_what_else_is_wrong(broker: GuardedBroker) -> None:
    assert broker.produce(one_batch(), acks=2).error is DENIED
    assert broker.produce(b"no batch at all", acks=1).error is not ErrorCode.NONE


def test_whoever_awaits_no_answer_is_told_by_the_end_of_his_connection(broker: GuardedBroker) -> None:
    with pytest.raises(HangUpError, match="TOPIC_AUTHORIZATION_FAILED"):
        broker.produce(one_batch(), acks=0)


def test_a_transaction_needs_the_right_to_its_id(broker: GuardedBroker) -> None:
    broker.tell(entry(Operation.WRITE))
    sent = one_batch(attributes=TRANSACTIONAL, producer_id=7, producer_epoch=0, base_sequence=0)
    refused = broker.produce(sent, transactional_id="tx")
    assert refused.error is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    broker.tell(entry(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "tx"))
    assert broker.produce(sent, transactional_id="tx").error is not refused.error


def test_only_topics_that_may_be_created_are(broker: GuardedBroker) -> None:
    broker.tell(*(entry(Operation.DESCRIBE, name=each) for each in ("seen", "mine")))
    broker.tell(entry(Operation.CREATE, name="mine"))
    asked = MetadataRequest(topics=("hidden", "seen", "mine"), allow_auto_topic_creation=True)
    told = broker.ask(metadata.API_KEY, asked, BY_NAME).topics
    assert broker.created == ["mine"]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {name: topic.error for name, topic in told.items()} == {"hidden": DENIED, "seen": DENIED, "mine": unknown}


def test_a_topic_that_may_not_be_described_is_hidden_from_whoever_asks_for_all(broker: GuardedBroker) -> None:
    broker.tell(entry(Operation.DESCRIBE))
    everything = MetadataRequest(topics=None, include_topic_authorized_operations=True)
    told = broker.ask(metadata.API_KEY, everything, BY_NAME).topics
    assert {name: topic.authorized_operations for name, topic in told.items()} == {TOPIC: 1 << Operation.DESCRIBE}


def test_the_name_of_a_topic_is_not_told_by_its_id(broker: GuardedBroker) -> None:
    answer = broker.ask(metadata.API_KEY, MetadataRequest(topics=(), topic_ids=(TOPIC_ID,)), BY_NAME)
    assert answer.topics == {}
    assert [(each.error, each.topic_id) for each in answer.unnamed] == [(DENIED, TOPIC_ID)]


def test_each_caller_has_what_he_may_however_many_there_are(broker: GuardedBroker) -> None:
    broker.tell(entry(Operation.READ))

    def error(name: str) -> ErrorCode:
        caller = Call(BY_NAME, Caller("127.0.0.1", name), "test")
        asked = FetchRequest(partitions={ORDERS: MANY}, max_wait_ms=0)
        answer = broker._apis[fetch.API_KEY].answer(asked, caller)
        found: ErrorCode = answer.partitions[ORDERS].error
        return found

    names = [f"User:{number}" for number in range(100)]
    assert {error(each) for each in names} == {DENIED}
    assert {error(each) for each in (ANONYMOUS, names[0], ANONYMOUS)} == {ErrorCode.NONE, DENIED}
    broker.tell(replace(entry(Operation.READ), id=UUID(int=5), principal="User:99"))
    assert [each for each in names if error(each) is ErrorCode.NONE] == ["User:99"]
