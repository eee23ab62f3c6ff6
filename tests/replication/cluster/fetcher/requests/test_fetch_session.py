"""What a fetch session tells a leader, against a leader that remembers what it was told."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.cluster.fetcher.requests.fetch_session import FetchSession, SessionFetch
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchPartition, FetchRequest, FetchResponse

PARTITIONS = [TopicPartition("orders", number) for number in range(4)] + [TopicPartition("payments", 0)]
TOPIC_IDS = {"orders": UUID(int=1), "payments": UUID(int=2)}
NOTHING = FetchedPartition(ErrorCode.NONE, 0)


def at(offset: int) -> FetchPartition:
    return FetchPartition(offset, 1 << 20)


def request_of(fetch: SessionFetch) -> FetchRequest:
    return FetchRequest(
        partitions=fetch.partitions,
        forgotten=fetch.forgotten,
        topic_ids=fetch.topic_ids,
        session_id=fetch.session_id,
        session_epoch=fetch.session_epoch,
    )


def put(session: FetchSession, partition: TopicPartition, offset: int) -> None:
    session.put(partition, at(offset), TOPIC_IDS[partition.topic])


def begun(*partitions: TopicPartition) -> FetchSession:
    """A session in which the leader knows of these, at offset 0."""
    session = FetchSession()
    for partition in partitions:
        put(session, partition, 0)
    request = next_request(session)
    assert session.answered(request, FetchResponse(session_id=7, partitions=dict.fromkeys(partitions, NOTHING))) == ""
    return session


def next_request(session: FetchSession) -> FetchRequest:
    fetch = session.next()
    assert fetch is not None
    return request_of(fetch)


def test_the_first_fetch_names_all_and_asks_for_a_session() -> None:
    session = FetchSession()
    put(session, PARTITIONS[0], 5)
    put(session, PARTITIONS[1], 6)
    request = next_request(session)
    assert dict(request.partitions) == {PARTITIONS[0]: at(5), PARTITIONS[1]: at(6)}
    assert (request.session_id, request.session_epoch) == (0, 0)


def test_then_it_names_only_what_changed() -> None:
    session = begun(*PARTITIONS[:3])
    put(session, PARTITIONS[1], 9)
    put(session, PARTITIONS[0], 0)
    session.drop(PARTITIONS[2])
    request = next_request(session)
    assert dict(request.partitions) == {PARTITIONS[1]: at(9)}
    assert request.forgotten == {PARTITIONS[2]}
    assert (request.session_id, request.session_epoch) == (7, 1)


def test_after_a_failed_fetch_another_session_begins_and_goes_on() -> None:
    session = begun(PARTITIONS[0])
    session.failed()
    request = next_request(session)
    assert dict(request.partitions) == {PARTITIONS[0]: at(0)}
    assert request.session_epoch == 0
    assert session.answered(request, FetchResponse(session_id=8, partitions={PARTITIONS[0]: NOTHING})) == ""
    put(session, PARTITIONS[0], 3)
    request = next_request(session)
    assert (request.session_id, request.session_epoch) == (8, 1)


def test_what_has_moved_on_comes_last_in_a_full_fetch() -> None:
    session = begun(*PARTITIONS[:3])
    put(session, PARTITIONS[0], 5)
    session.failed()
    assert list(next_request(session).partitions) == [PARTITIONS[1], PARTITIONS[2], PARTITIONS[0]]


def test_another_session_knows_no_high_watermark_of_the_last() -> None:
    session = begun(PARTITIONS[0])
    assert session.told_high_watermark(PARTITIONS[0]) == 0
    session.failed()
    next_request(session)
    assert session.told_high_watermark(PARTITIONS[0]) is None


def test_who_clears_it_begins_from_nothing() -> None:
    session = begun(*PARTITIONS[:3])
    put(session, PARTITIONS[0], 5)
    session.drop(PARTITIONS[1])
    session.clear()
    assert (len(session), session.next()) == (0, None)
    put(session, PARTITIONS[2], 0)
    request = next_request(session)
    assert (dict(request.partitions), request.forgotten, request.session_epoch) == ({PARTITIONS[2]: at(0)}, set(), 0)
    assert session.asked(PARTITIONS[0]) is None


def test_one_partition_without_an_id_reminds_the_leader_that_there_are_some() -> None:
    session = FetchSession()
    for partition in PARTITIONS[:3]:
        session.put(partition, at(0))
    request = next_request(session)
    session.answered(request, FetchResponse(session_id=7, partitions=dict.fromkeys(PARTITIONS[:3], NOTHING)))
    put(session, PARTITIONS[4], 0)
    assert set(next_request(session).partitions) == {PARTITIONS[0], PARTITIONS[4]}
    session.drop(PARTITIONS[0])
    assert set(next_request(session).partitions) == {PARTITIONS[1]}


def test_nothing_to_fetch_is_no_fetch() -> None:
    session = begun(PARTITIONS[0])
    session.drop(PARTITIONS[0])
    assert session.next() is None


def test_session_epochs_go_round_from_the_largest_to_one() -> None:
    session = begun(PARTITIONS[0])
    request = next_request(session)
    last = FetchRequest(partitions={}, session_id=7, session_epoch=2**31 - 1)
    assert request.session_epoch == 1
    assert session.answered(last, FetchResponse(session_id=7, partitions={})) == ""
    assert next_request(session).session_epoch == 1


@pytest.mark.parametrize(
    ("error", "session_id"),
    [
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 7),
        (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 7),
        (ErrorCode.UNKNOWN_SERVER_ERROR, 7),
    ],
)
def test_an_error_begins_a_new_session_and_closes_the_old_one_if_there_is_one(
    error: ErrorCode, session_id: int
) -> None:
    session = begun(*PARTITIONS[:2])
    request = next_request(session)
    assert session.answered(request, FetchResponse(error=error, partitions={})) == error.name
    again = next_request(session)
    assert set(again.partitions) == set(PARTITIONS[:2])
    assert (again.session_id, again.session_epoch) == (session_id, 0)


def test_a_lost_fetch_begins_a_new_session() -> None:
    session = begun(*PARTITIONS[:2])
    next_request(session)
    session.failed()
    again = next_request(session)
    assert set(again.partitions) == set(PARTITIONS[:2])
    assert (again.session_id, again.session_epoch) == (7, 0)


def test_a_leader_without_room_for_a_session_is_told_all_each_time() -> None:
    session = FetchSession()
    put(session, PARTITIONS[0], 0)
    for _ in range(3):
        request = next_request(session)
        assert set(request.partitions) == {PARTITIONS[0]}
        assert (request.session_id, request.session_epoch) == (0, 0)
        answer = FetchResponse(session_id=0, partitions={PARTITIONS[0]: NOTHING})
        assert session.answered(request, answer) == ""


def test_an_answer_to_a_full_fetch_must_be_about_all() -> None:
    session = FetchSession()
    put(session, PARTITIONS[0], 0)
    put(session, PARTITIONS[1], 0)
    answer = FetchResponse(session_id=7, partitions={PARTITIONS[1]: NOTHING})
    assert "orders-0" in session.answered(next_request(session), answer)
    assert next_request(session).session_epoch == 0


def test_what_was_dropped_and_put_again_is_not_answered_by_what_comes_of_before() -> None:
    session = begun(PARTITIONS[0])
    next_request(session)
    assert session.asked(PARTITIONS[0]) == at(0)
    session.drop(PARTITIONS[0])
    put(session, PARTITIONS[0], 0)
    assert session.asked(PARTITIONS[0]) is None
    assert PARTITIONS[0] not in next_request(session).forgotten
    assert session.asked(PARTITIONS[0]) == at(0)


def test_another_topic_of_the_same_name_begins_a_new_session() -> None:
    session = begun(PARTITIONS[0])
    request = next_request(session)
    session.drop(PARTITIONS[0])
    session.put(PARTITIONS[0], at(0), uuid4())
    assert session.answered(request, FetchResponse(session_id=7, partitions={})) == ""
    again = next_request(session)
    assert (again.session_id, again.session_epoch) == (7, 0)


def test_where_a_topic_has_no_known_id_each_fetch_is_by_name() -> None:
    session = FetchSession()
    session.put(PARTITIONS[0], at(0))
    put(session, PARTITIONS[4], 0)
    first = next_request(session)
    both = dict.fromkeys([PARTITIONS[0], PARTITIONS[4]], NOTHING)
    session.answered(first, FetchResponse(session_id=7, partitions=both))
    for request in (first, next_request(session)):
        assert any(partition.topic not in request.topic_ids for partition in request.partitions)


class ToldLeader:
    """What a leader believes that it is to fetch, from requests alone (Kafka: FetchSession.update)."""

    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, FetchPartition] = {}

    def take(self, request: FetchRequest) -> FetchResponse:
        if request.session_epoch == 0:
            self.partitions = {}
        self.partitions |= request.partitions
        for partition in request.forgotten:
            del self.partitions[partition]
        told = request.partitions if request.session_epoch == 0 else {}
        return FetchResponse(session_id=7, partitions=dict.fromkeys(told, NOTHING))


Change = tuple[TopicPartition, int | None]
changes = st.lists(st.tuples(st.sampled_from(PARTITIONS), st.none() | st.integers(0, 3)), max_size=6)


@given(st.lists(st.tuples(changes, st.sampled_from(["answered", "lost", "refused"])), max_size=8))
def test_the_leader_always_knows_what_is_wanted(rounds: list[tuple[list[Change], str]]) -> None:
    session, leader, wanted = FetchSession(), ToldLeader(), dict[TopicPartition, FetchPartition]()
    for changed, fate in rounds:
        for partition, offset in changed:
            if offset is None:
                session.drop(partition)
                wanted.pop(partition, None)
            else:
                put(session, partition, offset)
                wanted[partition] = at(offset)
        fetch = session.next()
        if fetch is None:
            assert not wanted
            continue
        request = request_of(fetch)
        answer = leader.take(request)
        assert leader.partitions == wanted
        if fate == "answered":
            session.answered(request, answer)
        elif fate == "refused":
            session.answered(request, FetchResponse(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, partitions={}))
        else:
            session.failed()


def test_of_a_forgotten_partition_no_high_watermark_is_kept() -> None:
    session = begun(*PARTITIONS[:2])
    assert session.told_high_watermark(PARTITIONS[1]) == 0
    session.drop(PARTITIONS[1])
    assert next_request(session).forgotten == {PARTITIONS[1]}
    assert session.told_high_watermark(PARTITIONS[1]) is None
