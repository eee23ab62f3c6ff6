"""The fetch that a leader has yet to answer, and when the next one is due."""

from typing import Final

from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher_settings import FetcherSettings
from replication.cluster.fetcher.requests.fetch_session import FetchSession, is_lost
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchRequest, FetchResponse

LONGEST_SILENCE_MS: Final = 10_000
"""As far as a broker's quotas look back by default (Kafka: quota.window.num and .size.seconds, but for the window under
way). A broker that wants more does not read on: it throttles without the client's help (KIP-219)."""

LEAST_WAIT_MS: Final = 50
"""A leader without news waits before it answers; one that does not time and again is asked 20 times a second."""
_EARLY_AT_ONCE: Final = 3
"""So many answers in a row may come too early that have nothing of what is fetched."""


class OpenFetch:
    """One fetch at a time, within its leader's session."""

    def __init__(self, session: FetchSession, settings: FetcherSettings, observer: FetchObserver) -> None:
        """Ask for what `session` says, as `settings` say; call `observer` when the leader wants not to be asked."""
        self._session = session
        self._settings = settings
        self._observer = observer
        self._asked: tuple[FetchRequest, int] | None = None
        self._not_before = 0
        self._early = 0

    def due_at(self, now: int) -> int | None:
        """Return when to fetch next; None while a fetch is open, or where there is nothing to fetch."""
        if self._asked is not None or not len(self._session):
            return None
        return max(now, self._not_before)

    def ask(self, now: int) -> FetchRequest | None:
        """Return the next fetch, if it is due."""
        if self._asked is not None or now < self._not_before:
            return None
        fetch = self._session.next()
        if fetch is None:
            return None
        settings = self._settings
        request = FetchRequest(
            partitions=fetch.partitions,
            forgotten=fetch.forgotten,
            topic_ids=fetch.topic_ids,
            replica_id=settings.identity.replica_id,
            replica_epoch=settings.identity.replica_epoch,
            max_wait_ms=settings.max_wait_ms,
            min_bytes=settings.min_bytes,
            max_bytes=settings.max_bytes,
            session_id=fetch.session_id,
            session_epoch=fetch.session_epoch,
        )
        self._asked = (request, now)
        return request

    def answered(
        self, request: FetchRequest, response: FetchResponse, now: int, back_off_ms: int
    ) -> tuple[int | None, str]:
        """Handle an answer as a whole; return when it was asked for, and what is wrong with it, or "".

        The time is None where the answer says nothing of the partitions.
        """
        if self._asked is None or self._asked[0] is not request:
            return None, ""
        asked_at = self._asked[1]
        self._asked = None
        fault = self._session.answered(request, response)
        if _is_over_quota(response):
            silence_ms = min(response.throttle_time_ms, LONGEST_SILENCE_MS)
            self._not_before = now + silence_ms
            self._observer.throttled(response.throttle_time_ms, silence_ms)
            return None, ""
        if is_lost(response.error):
            if request.session_id == 0:
                self._not_before = now + back_off_ms
            return None, ""
        self._pace(response, asked_at, now)
        return (None, fault) if fault else (asked_at, "")

    def _pace(self, response: FetchResponse, asked_at: int, now: int) -> None:
        """Wait for a leader that has no news, and does not wait itself."""
        not_before = asked_at + min(LEAST_WAIT_MS, self._settings.max_wait_ms)
        is_news = not response.partitions.keys().isdisjoint(self._session.partitions)
        self._early = 0 if is_news or now >= not_before else self._early + 1
        if self._early > _EARLY_AT_ONCE:
            self._not_before = not_before

    def failed(self) -> None:
        """Expect no answer any more."""
        self._asked = None
        self._session.failed()


def _is_over_quota(response: FetchResponse) -> bool:
    """Whether the leader has not looked: a client over its quota gets an empty answer, and is to wait (KIP-219)."""
    return response.error is ErrorCode.NONE and response.throttle_time_ms > 0 and not response.partitions
