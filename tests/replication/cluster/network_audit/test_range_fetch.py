"""A range of a replica is fetched whole, however it is answered, and what cannot be true is not believed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from logstore.topic_partition import TopicPartition
from replication.cluster.network_audit.errors import ReplicaMovedError, ReplicaUnreadError, ThrottledError
from replication.cluster.network_audit.range_fetch import (
    LONGEST_THROTTLED_MS,
    MOST_EMPTY,
    SHORTEST_THROTTLED_MS,
    RangeFetch,
)
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchResponse
from tests.replication.cluster.network_audit.answering_replica import T0, AnsweringReplica, Lying
from tests.replication.copies.audit.logs import Copy, Written

BATCHES = (Written(0, 3), Written(0, 1), Written(1, 4), Written(3, 2), Written(3, 5))
END = 15
EPOCH = 7


@pytest.fixture
def replica(tmp_path: Path) -> AnsweringReplica:
    return AnsweringReplica.of(Copy(BATCHES).write(tmp_path), END)


def lying(replica: AnsweringReplica, named: TopicPartition | None = None, **changes: Any) -> Lying:
    return Lying(replica.data, replica.start, replica.high_watermark, changes=changes, named=named)


def fetched(replica: AnsweringReplica, fetch: RangeFetch) -> bytes:
    return b"".join(_pieces(replica, fetch))


def _pieces(replica: AnsweringReplica, fetch: RangeFetch) -> Iterator[bytes]:
    for _ in range(100):
        if fetch.is_done:
            return
        yield from (bytes(piece.data) for piece in fetch.take(replica.answer(fetch.request)))
    raise AssertionError("it never ends")


@pytest.mark.parametrize("max_bytes", [1, 100, 150, 400, 1 << 20])
def test_all_of_a_log_is_fetched_in_answers_of_any_size(replica: AnsweringReplica, max_bytes: int) -> None:
    assert fetched(replica, RangeFetch(T0, 0, END, EPOCH, max_bytes=max_bytes)) == replica.data


def test_batches_that_begin_at_the_end_or_later_do_not_count(replica: AnsweringReplica) -> None:
    whole = RangeFetch(T0, 0, 8, EPOCH)
    assert replica.data.startswith(fetched(replica, whole))
    assert whole.next_offset >= 8
    parts = [fetched(replica, RangeFetch(T0, start, end, EPOCH)) for start, end in ((0, 4), (4, 8), (8, END))]
    assert b"".join(parts) == replica.data


def test_the_batch_that_holds_the_first_offset_counts(replica: AnsweringReplica) -> None:
    assert fetched(replica, RangeFetch(T0, 2, END, EPOCH)) == replica.data
    replica.start = 2
    assert fetched(replica, RangeFetch(T0, 2, END, EPOCH)) == replica.data


def test_a_log_that_ends_before_the_end_is_asked_for_twice_and_is_no_error(replica: AnsweringReplica) -> None:
    replica.high_watermark = 100
    fetch = RangeFetch(T0, END, 100, EPOCH)
    assert fetched(replica, fetch) == b""
    assert len(replica.requests) == MOST_EMPTY


def test_an_empty_range_is_done_at_once() -> None:
    assert RangeFetch(T0, 5, 5, EPOCH).is_done


def test_an_empty_answer_of_a_throttled_client_does_not_mean_that_there_is_nothing(replica: AnsweringReplica) -> None:
    replica.throttled = 5
    assert fetched(replica, RangeFetch(T0, 0, END, EPOCH)) == replica.data


def test_a_client_that_is_throttled_for_ever_gives_up(replica: AnsweringReplica) -> None:
    replica.throttled = LONGEST_THROTTLED_MS // SHORTEST_THROTTLED_MS
    fetch = RangeFetch(T0, 0, END, EPOCH)
    for _ in range(replica.throttled - 1):
        assert list(fetch.take(replica.answer(fetch.request))) == []
    with pytest.raises(ThrottledError, match="throttles all requests"):
        list(fetch.take(replica.answer(fetch.request)))


def test_a_throttled_client_gives_up_sooner_where_it_is_to_wait_for_longer() -> None:
    fetch = RangeFetch(T0, 0, END, EPOCH)
    with pytest.raises(ThrottledError):
        list(fetch.take(FetchResponse(throttle_time_ms=LONGEST_THROTTLED_MS, partitions={})))


def test_a_new_leader_epoch_and_a_log_that_begins_later_mean_that_it_has_moved(replica: AnsweringReplica) -> None:
    replica.leader_epoch = 8
    with pytest.raises(ReplicaMovedError, match="FENCED_LEADER_EPOCH"):
        fetched(replica, RangeFetch(T0, 0, END, EPOCH))
    replica.leader_epoch, replica.start = EPOCH, 4
    with pytest.raises(ReplicaMovedError, match="OFFSET_OUT_OF_RANGE to offset 0"):
        fetched(replica, RangeFetch(T0, 0, END, EPOCH))


def test_a_high_watermark_that_goes_back_means_that_it_has_moved(replica: AnsweringReplica) -> None:
    with pytest.raises(ReplicaMovedError, match="high watermark was 15 or higher, and is 8 now"):
        fetched(lying(replica, high_watermark=8), RangeFetch(T0, 0, END, EPOCH))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"high_watermark": -1}, "does not say what its high watermark is"),
        ({"error": ErrorCode.TOPIC_AUTHORIZATION_FAILED}, "allow this user READ on the topic"),
        ({"error": ErrorCode.KAFKA_STORAGE_ERROR}, "a disk of the broker has failed"),
        ({"error": ErrorCode.UNKNOWN_SERVER_ERROR}, "its log says why"),
        ({"records": b"", "preferred_read_replica": 3}, "sends its consumers to broker 3"),
        ({"records": bytes(200)}, "bytes that are no batch"),
        ({"records": b"\0" * 20}, "less than one batch|bytes that are no batch"),
    ],
)
def test_answers_that_cannot_be_used_are_named(replica: AnsweringReplica, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ReplicaUnreadError, match=said):
        fetched(lying(replica, **changes), RangeFetch(T0, 0, END, EPOCH))


def test_an_answer_about_another_partition_is_not_believed(replica: AnsweringReplica) -> None:
    with pytest.raises(ReplicaUnreadError, match="without the partition that it was asked for"):
        fetched(lying(replica, named=TopicPartition("other", 0)), RangeFetch(T0, 0, END, EPOCH))


def test_a_broker_that_answers_the_same_batches_for_ever_is_not_believed(replica: AnsweringReplica) -> None:
    with pytest.raises(ReplicaUnreadError, match="asked for offset 15 the broker answers with a batch of the offsets"):
        fetched(lying(replica, records=replica.data, high_watermark=99), RangeFetch(T0, 0, 99, EPOCH))


def test_batches_that_go_back_are_not_believed(replica: AnsweringReplica) -> None:
    with pytest.raises(ReplicaUnreadError, match="behind offset 14 the broker answers with a batch that begins at 0"):
        fetched(lying(replica, records=replica.data * 2), RangeFetch(T0, 0, END, EPOCH))


def test_an_error_of_the_whole_answer_is_named() -> None:
    answer = FetchResponse(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, partitions={})
    with pytest.raises(ReplicaUnreadError, match="FETCH_SESSION_ID_NOT_FOUND"):
        list(RangeFetch(T0, 0, END, EPOCH).take(answer))


def test_the_request_is_a_consumers() -> None:
    request = RangeFetch(T0, 3, END, EPOCH).request
    assert (request.replica_id, request.session_id, request.isolation_level) == (-1, 0, 0)
    assert request.partitions[T0][:3] == (3, 4 << 20, EPOCH)
