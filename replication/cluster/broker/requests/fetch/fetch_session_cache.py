"""The sessions that a broker keeps (KIP-227)."""

import time
from collections.abc import Callable
from random import Random
from threading import Lock
from typing import Final

from replication.cluster.broker.requests.fetch.fetch_session import FetchSession, next_epoch
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import NO_SESSION, SINCE_TOPIC_IDS, FetchRequest

SLOTS: Final = 1_000
"""Kafka: max.incremental.fetch.session.cache.slots."""
EVICTION_SECONDS: Final = 120.0
"""After so long without a fetch any session may be put out, and after so long in all those of followers (KIP-227)."""


class _Slot:
    """A session and since when it is there."""

    __slots__ = ("created", "session", "size", "used")

    def __init__(self, session: FetchSession, now: float) -> None:
        self.session = session
        self.created = self.used = now
        self.size = len(session)

    @property
    def is_old(self) -> bool:
        return self.used - self.created > EVICTION_SECONDS

    @property
    def worth(self) -> tuple[bool, int, int]:
        """What has least goes first: a consumer's before a follower's, then small ones (Kafka: EvictableKey)."""
        return self.session.is_follower, self.size, self.session.id


class FetchSessionCache:
    """Keeps sessions as long as there is room, the most useful ones beyond that (Kafka: FetchSessionCache)."""

    def __init__(
        self, slots: int = SLOTS, clock: Callable[[], float] = time.monotonic, random: Random | None = None
    ) -> None:
        """Keep as many as there are slots; `clock` gives seconds, and `random` the ids."""
        self._slots = slots
        self._clock = clock
        self._random = random or Random()  # noqa: S311  nothing is secret about an id
        self._lock = Lock()
        self._by_id: dict[int, _Slot] = {}
        """Those that were not used for longest first."""

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, session: FetchSession) -> int:
        """Keep a session and return its id; NO_SESSION where all that are there are worth more."""
        with self._lock:
            slot = _Slot(session, self._clock())
            if len(self._by_id) >= self._slots and not self._evict_for(slot):
                return NO_SESSION
            session.id = self._new_id()
            self._by_id[session.id] = slot
            return session.id

    def resume(self, request: FetchRequest, version: int) -> FetchSession | ErrorCode | None:
        """Return the session that an incremental fetch goes on with, brought up to date, or why there is none.

        None: the fetch has taken its last partition from it, and it is closed.
        """
        with self._lock:
            slot = self._by_id.get(request.session_id)
            if slot is None:
                return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            session = slot.session
            if session.epoch != request.session_epoch:
                return ErrorCode.INVALID_FETCH_SESSION_EPOCH
            if session.is_by_id != (version >= SINCE_TOPIC_IDS):
                return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
            session.update(request)
            if not len(session):
                self._remove(session.id)
                return None
            slot.used, slot.size = self._clock(), len(session)
            self._by_id[session.id] = self._by_id.pop(session.id)
            session.epoch = next_epoch(session.epoch)
            return session

    def remove(self, session_id: int) -> None:
        """Close a session, if it is there."""
        with self._lock:
            self._remove(session_id)

    def _remove(self, session_id: int) -> None:
        slot = self._by_id.pop(session_id, None)
        if slot is not None:
            slot.session.close()

    def _evict_for(self, new: _Slot) -> bool:
        """Make room for a session that is worth more than one that may go, or where one was long not used."""
        oldest = next(iter(self._by_id.values()), None)
        if oldest is not None and new.created - oldest.used > EVICTION_SECONDS:
            self._remove(oldest.session.id)
            return True
        takes_any = new.session.is_follower
        may_go = [each for each in self._by_id.values() if each.is_old or (takes_any and not each.session.is_follower)]
        least = min(may_go, key=lambda each: each.worth, default=None)
        if least is None or new.worth < least.worth:
            return False
        self._remove(least.session.id)
        return True

    def _new_id(self) -> int:
        while True:
            session_id = self._random.randint(1, 2**31 - 1)
            if session_id not in self._by_id:
                return session_id
