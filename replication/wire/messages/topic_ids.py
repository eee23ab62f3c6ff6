"""Topics that requests and answers name by their ids (KIP-516)."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeVar
from uuid import UUID

from logstore import TopicPartition
from replication.records.codec.fields import Int32, OptionalString, String

T = TypeVar("T")


class Endpoint(NamedTuple):
    """Where a broker listens, as answers have it of the leaders that they name (KIP-951)."""

    node_id: Int32
    host: String
    port: Int32
    rack: OptionalString = None


def unnamed(topic_id: UUID) -> str:
    """Return what stands for the name of a topic that is named by its id; no topic can be called so."""
    return f"id:{topic_id}"


@lru_cache(1_024)
def id_of(data: bytes) -> UUID:
    """Return a topic's id that was read; to make it anew takes longer than most of its message."""
    return UUID(bytes=data)


@lru_cache(1_024)
def known_by(topic_id: bytes) -> tuple[str, Mapping[str, UUID]]:
    """Return what stands for the name of a topic, and whose id it is, of an id that was read; kept as in `id_of`."""
    known = id_of(topic_id)
    name = unnamed(known)
    return name, MappingProxyType({name: known})


def new_names(topic_ids: Mapping[str, UUID], names: Mapping[UUID, str]) -> dict[str, str]:
    """Return the names of topics by what they were called before; those whose id has no name stay as they are."""
    return {known: names.get(topic_id, known) for known, topic_id in topic_ids.items()}


def with_names(partitions: Mapping[TopicPartition, T], new: Mapping[str, str]) -> dict[TopicPartition, T]:
    """Return what is known of partitions, under their topics' new names."""
    return {TopicPartition(new.get(topic, topic), index): known for (topic, index), known in partitions.items()}
