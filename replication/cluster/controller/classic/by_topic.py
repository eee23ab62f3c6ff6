"""A dictionary by partition or by replica that also finds what belongs to one topic."""

from collections.abc import Callable, Iterator, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ByTopic(MutableMapping[K, V]):
    """In the order of insertion, as a dictionary; the keys of a topic are found without a look at those of others."""

    def __init__(self, topic_of: Callable[[K], str]) -> None:
        self._topic_of = topic_of
        self._values: dict[K, V] = {}
        self._keys: dict[str, dict[K, None]] = {}

    def of_topic(self, topic: str) -> list[K]:
        """Return the keys of a topic."""
        return list(self._keys.get(topic, ()))

    def __getitem__(self, key: K) -> V:
        return self._values[key]

    def __setitem__(self, key: K, value: V) -> None:
        self._values[key] = value
        self._keys.setdefault(self._topic_of(key), {})[key] = None

    def __delitem__(self, key: K) -> None:
        del self._values[key]
        topic = self._topic_of(key)
        del self._keys[topic][key]
        if not self._keys[topic]:
            del self._keys[topic]

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
