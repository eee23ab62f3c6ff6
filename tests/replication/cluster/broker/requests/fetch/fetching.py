"""Fetches as clients send them."""

from collections.abc import Mapping
from typing import Any

from logstore import TopicPartition
from replication.cluster.broker.requests.fetch.fetches import Fetches
from replication.cluster.broker.requests.fetch.pending_fetch import PendingFetch
from replication.wire.messages import fetch_form
from replication.wire.messages.fetch import (
    SINCE_TOPIC_IDS,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from tests.replication.cluster.broker.requests.small_broker import ORDERS, TOPIC, TOPIC_ID, SmallBroker, call

BY_NAME, NEWEST = 12, 18
MUCH = 1 << 20


class Client:
    """Sends requests as bytes, and reads the answers by the topics' names."""

    def __init__(self, broker: SmallBroker, version: int = BY_NAME, fetches: Fetches | None = None) -> None:
        self.version = version
        self.fetches = fetches or Fetches(broker.lookup)
        self.ids = {TOPIC: TOPIC_ID}

    def send(
        self, asked: Mapping[TopicPartition, FetchPartition], *, max_wait_ms: int = 0, **settings: Any
    ) -> FetchResponse | PendingFetch:
        ids = self.ids if self.version >= SINCE_TOPIC_IDS else {}
        request = FetchRequest(partitions=asked, topic_ids=ids, max_wait_ms=max_wait_ms, **settings)
        received = fetch_form.REQUEST.read(fetch_form.REQUEST.write(request, self.version), self.version)
        answer = self.fetches.answer(received, call(self.version))
        return answer if isinstance(answer, PendingFetch) else self.read(answer)

    def fetch(self, asked: Mapping[TopicPartition, FetchPartition], **settings: Any) -> FetchResponse:
        answer = self.send(asked, **settings)
        assert isinstance(answer, FetchResponse)
        return answer

    def one(self, offset: int, partition: TopicPartition = ORDERS, **settings: Any) -> FetchedPartition:
        """Fetch one partition from an offset on."""
        fields = {name: settings.pop(name) for name in FetchPartition._fields if name in settings}
        limit = fields.pop("max_bytes", MUCH)
        return self.fetch({partition: FetchPartition(offset, limit, **fields)}, **settings).partitions[partition]

    def read(self, answer: FetchResponse) -> FetchResponse:
        data = fetch_form.RESPONSE.write(answer, self.version)
        return fetch_form.read_response(data, self.version, {topic_id: name for name, topic_id in self.ids.items()})
