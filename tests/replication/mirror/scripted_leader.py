"""A leader whose every answer a test may alter before it is sent; `WireLeader` is an honest one."""

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from threading import RLock
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID, uuid4

from logstore import Log, TopicPartition
from logstore.errors import LogClosedError
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.fetch import FetchedPartition, FetchPartition, FetchRequest
from replication.protocol.messages.list_offsets import ListOffsetsRequest, OffsetQuestion
from replication.protocol.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest
from replication.protocol.wire.kio_messages import response_classes
from tests.replication.fetcher.leader import Leader
from tests.replication.protocol.fake_broker import Asked, FakeBroker, framed, receive, versions

FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, EPOCHS = 1, 2, 3, 18, 23
SPOKEN: Final = {FETCH: range(16, 17), LIST_OFFSETS: range(7, 8), METADATA: range(12, 13)}
SPOKEN_BY_ALL: Final = {**SPOKEN, API_VERSIONS: range(5), EPOCHS: range(4, 5)}
BROKER = 1
POLL_SECONDS = 0.01
NO_TIME = timedelta()


class ScriptedLeader:
    """The only broker of a cluster; whatever is done to its logs under `held` its clients see as one step."""

    def __init__(self, cluster_id: str = "wire", *, sessions: bool = False) -> None:
        """With sessions it looks for news once in each fetch's time, which is enough for partitions that idle."""
        self.leader = Leader(sessions=sessions)
        self.held = RLock()
        self.topic_ids: dict[str, UUID] = {}
        self.broker = BROKER
        """As who it leads: another one after an election."""
        self._cluster_id = cluster_id
        self._server = FakeBroker(self._serve)
        self._streams: set[socket.socket] = set()

    @property
    def bootstrap(self) -> str:
        return str(self._server.address)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Be gone: nobody listens any more."""
        self.hang_up()
        self._server.stop()

    def lead(self, partition: TopicPartition, log: Log, leader_epoch: int) -> None:
        """Lead a partition with a log, from now on in this epoch."""
        with self.held:
            topic_id = self.topic_ids.setdefault(partition.topic, uuid4())
            self.leader.lead(partition, log, leader_epoch, topic_id)

    def recreate(self, topic: str) -> None:
        """Give a topic another id, as if it had been deleted and made again."""
        with self.held:
            self.topic_ids[topic] = uuid4()
            for partition, led in self.leader.partitions.items():
                if partition.topic == topic:
                    led.topic_id = self.topic_ids[topic]

    def hang_up(self) -> None:
        """End all connections."""
        for stream in list(self._streams):
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def _serve(self, stream: socket.socket) -> None:
        answers: Mapping[int, Callable[[Asked], Any]] = {
            FETCH: self._fetch,
            LIST_OFFSETS: self._list_offsets,
            METADATA: self._metadata,
            EPOCHS: self._epochs,
        }
        stream.settimeout(None)
        self._streams.add(stream)
        try:
            while True:
                asked = receive(stream)
                if asked.api_key == API_VERSIONS:
                    stream.sendall(versions(asked, SPOKEN_BY_ALL))
                else:
                    stream.sendall(framed(asked.correlation_id, answers[asked.api_key](asked)))
        except LogClosedError:
            # The test is over, and closes its logs before its leader.
            return
        finally:
            self._streams.discard(stream)

    # --- one method for each API

    def _metadata(self, asked: Asked) -> Any:
        classes = response_classes(METADATA, asked.version)
        with self.held:
            wanted = [each.name for each in asked.payload.topics or ()] if asked.payload.topics is not None else None
            topics = tuple(self._topic(classes, name) for name in (self.topic_ids if wanted is None else wanted))
        address = self._server.address
        broker = classes.MetadataResponseBroker(node_id=self.broker, host=address.host, port=address.port)
        return classes.MetadataResponse(
            throttle_time=NO_TIME, brokers=(broker,), cluster_id=self._cluster_id, controller_id=BROKER, topics=topics
        )

    def _topic(self, classes: Any, name: str) -> Any:
        led = {each.partition: led for each, led in self.leader.partitions.items() if each.topic == name}
        return classes.MetadataResponseTopic(
            error_code=ErrorCode.NONE if led else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            name=name,
            topic_id=self.topic_ids.get(name, UUID(int=0)),
            partitions=tuple(
                classes.MetadataResponsePartition(
                    error_code=ErrorCode.NONE,
                    partition_index=number,
                    leader_id=self.broker,
                    leader_epoch=each.leader_epoch,
                    replica_nodes=(self.broker,),
                    isr_nodes=(self.broker,),
                    offline_replicas=(),
                )
                for number, each in sorted(led.items())
            ),
        )

    def _epochs(self, asked: Asked) -> Any:
        classes = response_classes(EPOCHS, asked.version)
        questions = {
            TopicPartition(topic.topic, each.partition): EpochQuestion(each.current_leader_epoch, each.leader_epoch)
            for topic in asked.payload.topics
            for each in topic.partitions
        }
        with self.held:
            answers: Any = self.leader.answer(OffsetForLeaderEpochRequest(partitions=questions))
        return classes.OffsetForLeaderEpochResponse(
            throttle_time=NO_TIME,
            topics=tuple(
                classes.OffsetForLeaderTopicResult(
                    topic=partition.topic,
                    partitions=(
                        classes.EpochEndOffset(
                            error_code=answer.error,
                            partition=partition.partition,
                            leader_epoch=answer.end.epoch,
                            end_offset=answer.end.end_offset,
                        ),
                    ),
                )
                for partition, answer in answers.partitions.items()
            ),
        )

    def _list_offsets(self, asked: Asked) -> Any:
        classes = response_classes(LIST_OFFSETS, asked.version)
        questions = {
            TopicPartition(topic.name, each.partition_index): OffsetQuestion(each.timestamp, each.current_leader_epoch)
            for topic in asked.payload.topics
            for each in topic.partitions
        }
        with self.held:
            answers: Any = self.leader.answer(
                ListOffsetsRequest(partitions=questions, replica_id=asked.payload.replica_id)
            )
        return classes.ListOffsetsResponse(
            throttle_time=NO_TIME,
            topics=tuple(
                classes.ListOffsetsTopicResponse(
                    name=partition.topic,
                    partitions=(
                        classes.ListOffsetsPartitionResponse(
                            partition_index=partition.partition, error_code=answer.error, offset=answer.offset
                        ),
                    ),
                )
                for partition, answer in answers.partitions.items()
            ),
        )

    def _fetch(self, asked: Asked) -> Any:
        request = self._fetch_request(asked.payload)
        deadline = time.monotonic() + request.max_wait_ms / 1_000
        answer = first = self._read(request)
        if self.leader.sessions and not answer.partitions:
            time.sleep(request.max_wait_ms / 1_000)
            return self._fetch_response(answer)
        while not self.leader.sessions and not _has_news(first, answer) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            answer = self._read(request)
        return self._fetch_response(answer)

    def _read(self, request: FetchRequest) -> Any:
        with self.held:
            answer = self.leader.answer(request)
            self.leader.asked.clear()
            return answer

    def _fetch_request(self, payload: Any) -> FetchRequest:
        names = {topic_id: name for name, topic_id in self.topic_ids.items()}
        return FetchRequest(
            partitions={
                TopicPartition(names[topic.topic_id], each.partition): FetchPartition(
                    each.fetch_offset, each.partition_max_bytes, each.current_leader_epoch, each.last_fetched_epoch
                )
                for topic in payload.topics
                if topic.topic_id in names
                for each in topic.partitions
            },
            forgotten=tuple(
                TopicPartition(names[topic.topic_id], each)
                for topic in payload.forgotten_topics_data
                if topic.topic_id in names
                for each in topic.partitions
            ),
            topic_ids=dict(self.topic_ids),
            replica_id=payload.replica_state.replica_id,
            max_wait_ms=payload.max_wait // timedelta(milliseconds=1),
            session_id=payload.session_id,
            session_epoch=payload.session_epoch,
        )

    def _fetch_response(self, answer: Any) -> Any:
        classes = response_classes(FETCH, 16)
        return classes.FetchResponse(
            throttle_time=NO_TIME,
            error_code=answer.error,
            session_id=answer.session_id,
            responses=tuple(
                classes.FetchableTopicResponse(
                    topic_id=self.topic_ids[partition.topic], partitions=(_fetched(classes, partition, each),)
                )
                for partition, each in answer.partitions.items()
            ),
        )


def _has_news(first: Any, answer: Any) -> bool:
    if answer.error is not ErrorCode.NONE:
        return True
    for partition, each in answer.partitions.items():
        is_higher = each.high_watermark != first.partitions[partition].high_watermark
        if each.records or each.error is not ErrorCode.NONE or each.diverging_epoch is not None or is_higher:
            return True
    return False


def _fetched(classes: Any, partition: TopicPartition, answer: FetchedPartition) -> Any:
    told = {}
    if answer.diverging_epoch is not None:
        epoch, end_offset = answer.diverging_epoch
        told["diverging_epoch"] = classes.EpochEndOffset(epoch=epoch, end_offset=end_offset)
    return classes.PartitionData(
        partition_index=partition.partition,
        error_code=answer.error,
        high_watermark=answer.high_watermark,
        log_start_offset=answer.log_start_offset,
        aborted_transactions=None,
        records=bytes(answer.records),
        **told,
    )
