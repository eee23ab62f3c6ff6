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
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from logstore import TopicPartition
from replication.protocol.error_code import ErrorCode
from replication.protocol.wire.kio_messages import response_classes
from tests.replication.mirror.scripted_leader import FETCH, ScriptedLeader
from tests.replication.protocol.fake_broker import Asked

BAD, GOOD = TopicPartition("orders", 0), TopicPartition("orders", 1)
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


def _erring(*errors: ErrorCode) -> Callable[[random.Random, Any], Any]:
    return lambda rng, told: replace(told, error_code=rng.choice(errors), records=b"")


def _numbers(name: str, *values: int) -> Callable[[random.Random, Any], Any]:
    return lambda rng, told: replace(told, **{name: rng.choice(values)})


def _diverging(rng: random.Random, told: Any) -> Any:
    end = response_classes(FETCH, 16).EpochEndOffset(
        epoch=rng.choice([2, 1, 0, -1, 9]), end_offset=rng.choice([10**6, INT64, told.high_watermark, 7])
    )
    return replace(told, records=b"", diverging_epoch=end)


def _aborted(rng: random.Random, told: Any) -> Any:
    kind = response_classes(FETCH, 16).AbortedTransaction
    aborted = tuple(
        kind(producer_id=rng.choice([-1, 0, INT64]), first_offset=rng.choice([-5, INT64])) for _ in range(999)
    )
    return replace(told, aborted_transactions=aborted)


PARTITION: Final[dict[str, Callable[[random.Random, Any], Any]]] = {
    "errors": _erring(*(each for each in ErrorCode if each is not ErrorCode.NONE)),
    "out of range": _erring(ErrorCode.OFFSET_OUT_OF_RANGE),
    "out of range, and odd offsets": _erring(ErrorCode.OFFSET_OUT_OF_RANGE),
    "fenced": _erring(ErrorCode.FENCED_LEADER_EPOCH),
    "fenced, and odd epochs": _erring(ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    "high watermark": _numbers("high_watermark", -1, 0, INT64, -(2**63), 3),
    "log start": _numbers("log_start_offset", INT64, 10**6, -5, -(2**63)),
    "aborted transactions": _aborted,
    "diverging": _diverging,
}


# --- what becomes of a whole answer


def _topics(answer: Any, change: Callable[[Any], Any]) -> Any:
    return replace(answer, responses=tuple(map(change, answer.responses)))


def _other_partitions(rng: random.Random, answer: Any) -> Any:
    def change(topic: Any) -> Any:
        number = rng.choice([7, -1, INT32])
        return replace(topic, partitions=tuple(replace(each, partition_index=number) for each in topic.partitions))

    return _topics(answer, change)


def _late(_: random.Random, answer: Any) -> Any:
    time.sleep(LATE_SECONDS)
    return answer


ANSWER: Final[dict[str, Callable[[random.Random, Any], Any]]] = {
    "silence asked for": lambda _, told: replace(told, throttle_time=timedelta(milliseconds=INT32), responses=()),
    "silence asked for, and records": lambda _, told: replace(told, throttle_time=timedelta(milliseconds=INT32)),
    "session errors": lambda rng, told: replace(told, error_code=rng.choice([*ErrorCode]), responses=()),
    "nothing": lambda _, told: replace(told, responses=()),
    "sessions": lambda rng, told: replace(told, session_id=rng.choice([-1, 5, INT32])),
    "too late": _late,
    "other partitions": _other_partitions,
    "other topics": lambda _, told: _topics(told, lambda topic: replace(topic, topic_id=FORGED)),
    "partitions twice": lambda _, told: replace(told, responses=told.responses * 2),
}


# --- what becomes of metadata


def _brokers(name: str, *values: object) -> Callable[[random.Random, Any], Any]:
    return lambda rng, told: replace(
        told, brokers=tuple(replace(each, **{name: rng.choice(values)}) for each in told.brokers)
    )


def _epochs(rng: random.Random, told: Any) -> Any:
    def change(each: Any) -> Any:
        odd = rng.choice([0, INT32, each.leader_epoch + 1])
        return replace(each, leader_epoch=odd) if each.partition_index == BAD.partition else each

    topics = (replace(topic, partitions=tuple(map(change, topic.partitions))) for topic in told.topics)
    return replace(told, topics=tuple(topics))


METADATA: Final[dict[str, Callable[[random.Random, Any], Any]]] = {
    "ports": _brokers("port", 0, -1, 70_000, INT32),
    "hosts": _brokers("host", "", "a" * 70 + ".x", "\0", "..", "256.1.1.1", "[::", "x y"),
    "leaders that change": _brokers("node_id", 1, 2, 3, INT32),
    "leader epochs": _epochs,
    "no brokers": lambda _, told: replace(told, brokers=(), topics=()),
    "topic errors": lambda rng, told: replace(
        told, topics=tuple(replace(each, error_code=rng.choice([*ErrorCode]), partitions=()) for each in told.topics)
    ),
}

KINDS: Final = (*BATCHES, *PARTITION, *ANSWER, *METADATA)


class NonsenseLeader(ScriptedLeader):
    """Leads as its base does; while `kind` is set, what it says of partition `BAD`, or of all, is nonsense."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.kind = ""
        self.asked: Counter[str] = Counter()
        """Requests by API since the kind was set."""
        self._rng = rng

    def _fetch(self, asked: Asked) -> Any:
        self.asked["fetch"] += 1
        answer, kind = super()._fetch(asked), self.kind
        if kind in ANSWER:
            return ANSWER[kind](self._rng, answer)
        if kind not in BATCHES and kind not in PARTITION:
            return answer
        return _topics(
            answer,
            lambda topic: replace(topic, partitions=tuple(self._partition(kind, each) for each in topic.partitions)),
        )

    def _partition(self, kind: str, told: Any) -> Any:
        if told.partition_index != BAD.partition:
            return told
        if kind in PARTITION:
            return PARTITION[kind](self._rng, told)
        batches = _split(told.records or b"")
        if batches:
            BATCHES[kind](self._rng, batches)
        return replace(told, records=b"".join(batches))

    def _metadata(self, asked: Asked) -> Any:
        self.asked["metadata"] += 1
        answer, kind = super()._metadata(asked), self.kind
        return METADATA[kind](self._rng, answer) if kind in METADATA else answer

    def _list_offsets(self, asked: Asked) -> Any:
        self.asked["offsets"] += 1
        answer = super()._list_offsets(asked)
        if self.kind != "out of range, and odd offsets":
            return answer
        return self._odd(answer, "partition_index", lambda: {"offset": self._rng.choice([-1, 0, 5, 10**6, INT64])})

    def _epochs(self, asked: Asked) -> Any:
        self.asked["epochs"] += 1
        answer = super()._epochs(asked)
        if self.kind != "fenced, and odd epochs":
            return answer
        return self._odd(
            answer,
            "partition",
            lambda: {
                "leader_epoch": self._rng.choice([-1, 0, 1, 2, 5, INT32]),
                "end_offset": self._rng.choice([-1, 0, 3, INT64]),
            },
        )

    @staticmethod
    def _odd(answer: Any, number: str, fields: Callable[[], dict[str, int]]) -> Any:
        def change(each: Any) -> Any:
            return replace(each, **fields()) if getattr(each, number) == BAD.partition else each

        topics = (replace(topic, partitions=tuple(map(change, topic.partitions))) for topic in answer.topics)
        return replace(answer, topics=tuple(topics))
