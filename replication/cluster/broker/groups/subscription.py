"""Which topics a member of a group of consumers reads, by its metadata (Kafka: ConsumerProtocolSubscription)."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from replication.records.codec.codec import codec_of
from replication.records.codec.errors import CODEC_ERRORS
from replication.records.codec.fields import OptionalBytes, Strings
from replication.records.codec.item_limit import at_most_items

CONSUMER: Final = "consumer"
"""The protocol type of groups of consumers."""
_VERSION_SIZE: Final = 2
_MOST_TOPICS: Final = 200_000
"""Of all members together. What more take to read would be taken at each generation."""


class _Subscription(NamedTuple):
    """What all versions begin with, after an int16, the version."""

    topics: Strings
    user_data: OptionalBytes


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics that members read, by the metadata of each; None where one of them cannot be read."""
    codec = codec_of(_Subscription, 0, flexible=False)
    try:
        with at_most_items(_MOST_TOPICS):
            read = [codec.read(each, _VERSION_SIZE)[0] for each in metadata]
    except CODEC_ERRORS:
        return None
    return frozenset(topic for subscription in read for topic in subscription.topics)
