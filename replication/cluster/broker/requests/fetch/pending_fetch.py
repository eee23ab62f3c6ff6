"""A fetch that waits until there is enough to answer."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from logstore.log.state.waiters import Waiter
from replication.base.clock import monotonic_ms
from replication.cluster.broker.requests.fetch.fetch_pass import FetchPass
from replication.cluster.broker.requests.fetch.fetch_terms import FetchTerms
from replication.cluster.broker.requests.fetch.replica_fetch_pass import ReplicaFetchPass
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.wire.messages.fetch import FetchResponse


class Fetch(Protocol):
    """What is fetched: all partitions of a request, or those of a session that have news."""

    @property
    def has_news(self) -> bool:
        """Whether there may be more than at the last reading."""

    def read(self, fetch_pass: FetchPass) -> None:
        """Read the partitions once."""

    def finish(self) -> FetchResponse:
        """Return what was read last."""

    def attend(self, waiter: Waiter) -> None:
        """Wake it when there may be more to read."""

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more."""


class PendingFetch:
    """Looks again whenever something happens, and answers what there is once its time is over (Kafka: DelayedFetch)."""

    def __init__(self, fetch: Fetch, lookup: PartitionLookup, terms: FetchTerms) -> None:
        """Read on these terms."""
        self.deadline: float = terms.deadline
        self.attend: Callable[[Waiter], None] = fetch.attend
        self.leave: Callable[[Waiter], None] = fetch.leave
        self._fetch = fetch
        self._lookup = lookup
        self._terms = terms
        self._is_read = False

    def answer(self) -> FetchResponse | None:
        """Return the answer, or None as long as there is too little."""
        if self._is_read and not self._fetch.has_news:
            return None
        fetch_pass = self._read()
        return self._finish(fetch_pass) if fetch_pass.is_enough else None

    def expire(self) -> FetchResponse:
        """Return what there is."""
        return self._finish(self._read())

    def _read(self) -> FetchPass:
        is_told = self._terms.is_follower and not self._is_read
        self._is_read = True
        fetch_pass = (ReplicaFetchPass if is_told else FetchPass)(self._lookup, self._terms)
        self._fetch.read(fetch_pass)
        return fetch_pass

    def _finish(self, fetch_pass: FetchPass) -> FetchResponse:
        response = self._fetch.finish()
        fetch_pass.note_sent()
        if self._terms.throttle is not None:
            for partition, size in fetch_pass.throttled:
                self._terms.throttle.record(partition, size, monotonic_ms())
        if self._terms.is_follower or not fetch_pass.leaders:
            return response
        return replace(response, leaders=self._lookup.addresses(fetch_pass.leaders, self._terms.listener))
