"""A leader that greets as one should, and then answers nonsense about one of its partitions, of a kind that is chosen.

with NonsenseLeader(random.Random(1)) as leader:
    leader.lead(...)
    leader.kind = "checksum"  # from now on
    leader.kind = ""          # the truth again
"""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from epoch import EndOffset
from logstore import TopicPartition
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import AbortedTransaction, FetchedPartition, FetchResponse
from replication.wire.messages.list_offsets import ListedOffset, ListOffsetsResponse
from replication.wire.messages.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from replication.wire.messages.offset_for_leader_epoch import EpochAnswer, OffsetForLeaderEpochResponse
from tests.replication.cluster.mirror.wire_leader import WireLeader

BAD, GOOD = TopicPartition("orders", 0), TopicPartition("orders", 1)
FOLLOWER = 5
"""The broker that may follow as a replica does."""
LATE_SECONDS: Final = 0.6
LARGE: Final = 20_000_000
INT32, INT64 = 2**31 - 1, 2**63 - 1
FORGED = UUID(int=7)

Batches = list[bytearray]
Change = Callable[[random.Random, Batches], None]
"""Of the batches of the partition, in place."""


def _split(records: bytes) -> Batches:
    parts, position = [], 0
    while position + 12 <= len(records):
        end = position + 12 + int.from_bytes(records[position + 8 : position + 12])
        parts.append(bytearray(records[position:end]))
        position = end
    return parts


# --- what becomes of batches


def _put(position: int, size: int, *values: int) -> Change:
    """Put one of the values into each batch, wherever it is."""

    def change(rng: random.Random, batches: Batches) -> None:
        for batch in batches:
            batch[position : position + size] = rng.choice(values).to_bytes(size, signed=True)

    return change


def _put_first(position: int, size: int, *values: int) -> Change:
    put = _put(position, size, *values)
    return lambda rng, batches: put(rng, batches[:1])


def _add_offset(low: int, high: int) -> Change:
    def change(rng: random.Random, batches: Batches) -> None:
        for batch in batches:
            batch[:8] = max(0, int.from_bytes(batch[:8]) + rng.randint(low, high)).to_bytes(8)

    return change


def _flip(low: int, high: int | None) -> Change:
    def change(rng: random.Random, batches: Batches) -> None:
        batch = rng.choice(batches)
        batch[rng.randrange(low, high or len(batch))] ^= 1 << rng.randrange(8)

    return change


def _later_epochs_back(rng: random.Random, batches: Batches) -> None:
    _put(12, 4, 0, -1, -(2**31))(rng, batches[1:] or batches)


def _repeat(_: random.Random, batches: Batches) -> None:
    batches[:] = [bytearray(each) for each in batches for _ in range(2)]


def _shuffle(rng: random.Random, batches: Batches) -> None:
    rng.shuffle(batches)


def _cut(rng: random.Random, batches: Batches) -> None:
    batches[:] = [batches[0][: rng.choice([1, 11, 12, 30, 60])]]


def _garbage(rng: random.Random, batches: Batches) -> None:
    batches[:] = [bytearray(rng.randbytes(3_000))]


def _append_garbage(rng: random.Random, batches: Batches) -> None:
    batches.append(bytearray(rng.randbytes(LARGE)))


def _endless(rng: random.Random, batches: Batches) -> None:
    """More than a segment takes at once, and a length by which nobody gets any further."""
    batches[0][8:12] = rng.choice([-12, -13, -(2**31)]).to_bytes(4, signed=True)
    batches.append(bytearray(5_000))


BATCHES: Final[dict[str, Change]] = {
    "checksum": _flip(21, 40),
    "any bit": _flip(0, None),
    "offsets lower": _add_offset(-9, -1),
    "offsets higher": _add_offset(10**9, 10**9),
    "offsets negative": _put(0, 8, -1, -(2**63)),
    "offsets too high": _put(0, 8, INT64 - 4),
    "epochs back": _later_epochs_back,
    "epochs ahead": _put(12, 4, 3, 9, INT32),
    "batches twice": _repeat,
    "batches shuffled": _shuffle,
    "batches cut": _cut,
    "lengths too low": _put_first(8, 4, 0, 1, -1, -(2**31), 48),
    "lengths too high": _put_first(8, 4, INT32),
    "lengths that go back": _endless,
    "magic": _put_first(16, 1, 0, 1, 3, 127, -1),
    "attributes": _put_first(21, 2, 32),
    "garbage": _garbage,
    "garbage behind": _append_garbage,
}


# --- what becomes of a partition's answer


def _erring(*errors: ErrorCode) -> Callable[[random.Random, FetchedPartition], FetchedPartition]:
    return lambda rng, told: told._replace(error=rng.choice(errors), records=b"")


def _values(name: str, *values: object) -> Callable[[random.Random, Any], Any]:
    return lambda rng, told: told._replace(**{name: rng.choice(values)})


def _diverging(rng: random.Random, told: FetchedPartition) -> FetchedPartition:
    end = EndOffset(rng.choice([2, 1, 0, -1, 9]), rng.choice([10**6, INT64, told.high_watermark, 7]))
    return told._replace(records=b"", diverging_epoch=end)


def _aborted(rng: random.Random, told: FetchedPartition) -> FetchedPartition:
    aborted = (AbortedTransaction(rng.choice([-1, 0, INT64]), rng.choice([-5, INT64])) for _ in range(999))
    return told._replace(aborted_transactions=tuple(aborted))


PARTITION: Final[dict[str, Callable[[random.Random, FetchedPartition], FetchedPartition]]] = {
    "errors": _erring(*(each for each in ErrorCode if each is not ErrorCode.NONE)),
    "out of range": _erring(ErrorCode.OFFSET_OUT_OF_RANGE),
    "out of range, and odd offsets": _erring(ErrorCode.OFFSET_OUT_OF_RANGE),
    "fenced": _erring(ErrorCode.FENCED_LEADER_EPOCH),
    "fenced, and odd epochs": _erring(ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    "high watermark": _values("high_watermark", -1, 0, INT64, -(2**63), 3),
    "log start": _values("log_start_offset", INT64, 10**6, -5, -(2**63)),
    "aborted transactions": _aborted,
    "diverging": _diverging,
}


# --- what becomes of a whole answer


class _Twice(dict[TopicPartition, FetchedPartition]):
    """Is written as if it held everything twice."""

    def items(self) -> Any:
        return [*super().items()] * 2


def _other_partitions(rng: random.Random, told: FetchResponse) -> FetchResponse:
    partitions = {
        each._replace(partition=rng.choice([7, -1, INT32])): fetched for each, fetched in told.partitions.items()
    }
    return replace(told, partitions=partitions)


def _late(_: random.Random, told: FetchResponse) -> FetchResponse:
    time.sleep(LATE_SECONDS)
    return told


ANSWER: Final[dict[str, Callable[[random.Random, FetchResponse], FetchResponse]]] = {
    "silence asked for": lambda _, told: replace(told, throttle_time_ms=INT32, partitions={}),
    "silence asked for, and records": lambda _, told: replace(told, throttle_time_ms=INT32),
    "session errors": lambda rng, told: replace(told, error=rng.choice([*ErrorCode]), partitions={}),
    "nothing": lambda _, told: replace(told, partitions={}),
    "sessions": lambda rng, told: replace(told, session_id=rng.choice([-1, 5, INT32])),
    "too late": _late,
    "other partitions": _other_partitions,
    "other topics": lambda _, told: replace(told, topic_ids=dict.fromkeys(told.topic_ids, FORGED)),
    "partitions twice": lambda _, told: replace(told, partitions=_Twice(told.partitions)),
}


# --- what becomes of metadata


def _brokers(
    change: Callable[[random.Random, Any], Any],
) -> Callable[[random.Random, ClusterMetadata], ClusterMetadata]:
    return lambda rng, told: replace(told, brokers={number: change(rng, each) for number, each in told.brokers.items()})


def _topics(told: ClusterMetadata, change: Callable[[TopicMetadata], TopicMetadata]) -> ClusterMetadata:
    return replace(told, topics={name: change(topic) for name, topic in told.topics.items()})


def _epochs(rng: random.Random, told: ClusterMetadata) -> ClusterMetadata:
    def odd(each: PartitionMetadata) -> PartitionMetadata:
        return each._replace(leader_epoch=rng.choice([0, INT32, each.leader_epoch + 1]))

    return _topics(
        told,
        lambda topic: replace(
            topic,
            partitions={
                number: odd(each) if number == BAD.partition else each for number, each in topic.partitions.items()
            },
        ),
    )


METADATA: Final[dict[str, Callable[[random.Random, ClusterMetadata], ClusterMetadata]]] = {
    "ports": _brokers(_values("port", 0, -1, 70_000, INT32)),
    "hosts": _brokers(_values("host", "", "a" * 70 + ".x", "\0", "..", "256.1.1.1", "[::", "x y")),
    "leaders that change": _brokers(_values("id", 1, 2, 3, INT32)),
    "leader epochs": _epochs,
    "no brokers": lambda _, told: replace(told, brokers={}, topics={}),
    "topic errors": lambda rng, told: _topics(
        told, lambda topic: replace(topic, error=rng.choice([*ErrorCode]), partitions={})
    ),
}

KINDS: Final = (*BATCHES, *PARTITION, *ANSWER, *METADATA)


class NonsenseLeader(WireLeader):
    """Leads as its base does; while `kind` is set, what it says of partition `BAD`, or of all, is nonsense."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(followers=(FOLLOWER,))
        self.kind = ""
        self.asked: Counter[str] = Counter()
        """Answers by kind since the kind was set."""
        self._rng = rng

    def tell(self, answer: Any) -> Any:
        self.asked[type(answer).__name__] += 1
        match answer:
            case FetchResponse():
                return self._fetched(self.kind, answer)
            case ClusterMetadata() if self.kind in METADATA:
                return METADATA[self.kind](self._rng, answer)
            case ListOffsetsResponse() if self.kind == "out of range, and odd offsets":
                return self._odd(answer, self._offset)
            case OffsetForLeaderEpochResponse() if self.kind == "fenced, and odd epochs":
                return self._odd(answer, self._end)
        return answer

    def _fetched(self, kind: str, answer: FetchResponse) -> Any:
        if kind in ANSWER:
            return ANSWER[kind](self._rng, answer)
        if kind in PARTITION:
            return self._odd(answer, lambda told: PARTITION[kind](self._rng, told))
        return self._odd(answer, lambda told: self._batches(BATCHES[kind], told)) if kind in BATCHES else answer

    def _odd(self, answer: Any, change: Callable[[Any], Any]) -> Any:
        partitions = {
            each: change(told) if each.partition == BAD.partition else told for each, told in answer.partitions.items()
        }
        return replace(answer, partitions=partitions)

    def _batches(self, change: Change, told: FetchedPartition) -> FetchedPartition:
        batches = _split(bytes(told.records))
        if batches:
            change(self._rng, batches)
        return told._replace(records=b"".join(batches))

    def _offset(self, told: ListedOffset) -> ListedOffset:
        return told._replace(offset=self._rng.choice([-1, 0, 5, 10**6, INT64]))

    def _end(self, told: EpochAnswer) -> EpochAnswer:
        end = EndOffset(self._rng.choice([-1, 0, 1, 2, 5, INT32]), self._rng.choice([-1, 0, 3, INT64]))
        return told._replace(end=end)
