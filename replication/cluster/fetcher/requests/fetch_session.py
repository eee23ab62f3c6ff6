"""An incremental fetch session: sends a leader only what changed since the last fetch (KIP-227)."""

from collections.abc import KeysView, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final
from uuid import UUID

from logstore import TopicPartition
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import (
    INITIAL_SESSION_EPOCH,
    NO_SESSION,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)

_MAX_SESSION_EPOCH: Final = 2**31 - 1
_LOST: Final = frozenset({ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH})


@dataclass(frozen=True, slots=True)
class SessionFetch:
    """What the next fetch is to say."""

    partitions: Mapping[TopicPartition, FetchPartition]
    forgotten: frozenset[TopicPartition]
    topic_ids: Mapping[str, UUID]
    session_id: int
    session_epoch: int


class FetchSession:
    """What one leader is to fetch for us, and what it knows of that; one fetch at a time (Kafka: FetchSessionHandler).

    A leader has room for some sessions only; without one every fetch names every partition.

    >>> session.put(partition, FetchPartition(fetch_offset=40, max_bytes=1 << 20), topic_id)
    >>> fetch = session.next()  # all of it first, later what was put or dropped since
    """

    def __init__(self) -> None:
        """Begin with no partition, and no session."""
        self._id = NO_SESSION
        self._epoch = INITIAL_SESSION_EPOCH
        self._wanted: dict[TopicPartition, FetchPartition] = {}
        self._asked: dict[TopicPartition, FetchPartition] = {}
        self._held: dict[TopicPartition, int | None] = {}
        """What the leader has in its session, and the high watermark that it sent last of each."""
        self._renewed = False
        """Since the last fetch something happened that its answer cannot know of."""
        self._changed: dict[TopicPartition, None] = {}
        self._forgotten: set[TopicPartition] = set()
        # Never changed, always replaced: requests under way hold them.
        self._topic_ids: Mapping[str, UUID] = {}
        self._by_name: dict[TopicPartition, None] = {}

    def __len__(self) -> int:
        return len(self._wanted)

    @property
    def partitions(self) -> KeysView[TopicPartition]:
        """What is to be fetched."""
        return self._wanted.keys()

    def put(self, partition: TopicPartition, fetch: FetchPartition, topic_id: UUID | None = None) -> None:
        """Fetch a partition from now on, or from here on."""
        if self._wanted.get(partition) == fetch:
            return
        # Last in order, so that in full fetches all have their turn to be first.
        self._wanted.pop(partition, None)
        self._wanted[partition] = fetch
        self._changed[partition] = None
        self._forgotten.discard(partition)
        if topic_id is None:
            self._by_name[partition] = None
        elif self._topic_ids.get(partition.topic) != topic_id:
            self._name_topic(partition.topic, topic_id)

    def drop(self, partition: TopicPartition) -> None:
        """Fetch a partition no more; what still comes of it is not what was asked for."""
        if self._wanted.pop(partition, None) is None:
            return
        self._changed.pop(partition, None)
        self._by_name.pop(partition, None)
        self._asked.pop(partition, None)
        if partition in self._held:
            self._forgotten.add(partition)

    def next(self) -> SessionFetch | None:
        """Return what to fetch next; None where there is nothing. Then comes `answered` or `failed`."""
        if not self._wanted:
            return None
        if self._epoch == INITIAL_SESSION_EPOCH:
            partitions = dict(self._wanted)
            forgotten: frozenset[TopicPartition] = frozenset()
            self._held.clear()
        else:
            partitions = {partition: self._wanted[partition] for partition in self._changed | self._reminder()}
            forgotten = frozenset(self._forgotten)
            for partition in forgotten:
                del self._held[partition]
        self._asked |= partitions
        self._held |= {partition: self._held.get(partition) for partition in partitions}
        self._changed.clear()
        self._forgotten.clear()
        self._renewed = False
        return SessionFetch(partitions, forgotten, self._topic_ids, self._id, self._epoch)

    def asked(self, partition: TopicPartition) -> FetchPartition | None:
        """Return what an answer of now answers; None where nothing was asked, or that was taken back."""
        return self._asked.get(partition)

    def told_high_watermark(self, partition: TopicPartition) -> int | None:
        """Return the leader's high watermark where an answer is silent about a partition: it stands as last sent."""
        return self._held.get(partition)

    def answered(self, request: FetchRequest, response: FetchResponse) -> str:
        """Apply an answer to the session; return what is wrong with it, or "".

        What is wrong begins a new session.
        """
        if response.error is not ErrorCode.NONE:
            self._id = NO_SESSION if response.error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND else self._id
            self._epoch = INITIAL_SESSION_EPOCH
            return response.error.name
        missing = request.partitions.keys() - response.partitions.keys() if _is_full(request) else ()
        if missing:
            self._epoch = INITIAL_SESSION_EPOCH
            return f"the answer to a full fetch lacks {len(missing):,} partitions, such as {min(missing)}"
        for partition in response.partitions.keys() & self._held.keys():
            fetched = response.partitions[partition]
            # After an error leaders tell it again of their own.
            self._held[partition] = fetched.high_watermark if fetched.error is ErrorCode.NONE else None
        self._id = response.session_id
        in_session = self._id != NO_SESSION and not self._renewed
        self._epoch = _following(request.session_epoch) if in_session else INITIAL_SESSION_EPOCH
        return ""

    def failed(self) -> None:
        """Begin a new session: nobody knows whether the leader has heard of the last fetch."""
        self._epoch = INITIAL_SESSION_EPOCH
        self._renewed = True

    def clear(self) -> None:
        """Begin a new session, and fetch what is `put` from now on; a call that was broken off is made good by that."""
        self.failed()
        for known in (self._wanted, self._asked, self._held, self._changed, self._forgotten, self._by_name):
            known.clear()

    def _reminder(self) -> dict[TopicPartition, None]:
        """One partition whose topic has no known id, if there is one: it makes the whole request one by name."""
        return dict.fromkeys(islice(self._by_name, 1))

    def _name_topic(self, topic: str, topic_id: UUID) -> None:
        if topic in self._topic_ids:
            # The leader has the topic's partitions under its former id.
            self.failed()
        self._topic_ids = {**self._topic_ids, topic: topic_id}


def is_lost(error: ErrorCode) -> bool:
    """Whether a leader has merely forgotten the session, as all do in time: fetch in full, and at once."""
    return error in _LOST


def _is_full(request: FetchRequest) -> bool:
    return request.session_epoch == INITIAL_SESSION_EPOCH


def _following(epoch: int) -> int:
    return 1 if epoch == _MAX_SESSION_EPOCH else epoch + 1
