"""Requests of those who mean ill: random ones of every API, and such as are small and ask for much."""

import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, NamedTuple, get_args, get_origin
from uuid import UUID

from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.encoding.kio_messages import request_class, served_versions
from replication.wire.server.served_api import ServedApis
from tests.replication.wire.instances import instance
from tests.replication.wire.test_fuzz import CHANGES, LIES

NAMES: Final = ("orders", "", "a", "topic", "x" * 200)
"""The first is a topic's, and a group's."""
SEEDS_OF_A_VERSION: Final = 6


class Hostile(NamedTuple):
    """One request."""

    shape: str
    api_key: int
    frame: bytes


LONG_NAME = 30_000


class HostileRequests:
    """Made of some thousand requests that are in order, so that most of the time goes into answering them."""

    def __init__(self, apis: ServedApis, rng: random.Random, *, flood: int) -> None:
        """`flood` items are the most that an array is filled with."""
        self._rng: Final = rng
        self._flood: Final = flood
        self._kinds: Final = [
            request_class(key, version)
            for key in sorted(apis)
            for version in served_versions(key) or ()
            if version in apis[key].versions
        ]
        self._plain: Final = [
            Hostile("random", kind.__api_key__, frame_of(instance(kind, rng)))
            for kind in self._kinds
            for _ in range(SEEDS_OF_A_VERSION)
        ]
        self._makers: Final[Mapping[str, Callable[[], Hostile]]] = {
            "random": self._random,
            "lying counts": self._lying,
            "flood of equal items": lambda: self.flooded(distinct=False),
            "flood of different items": lambda: self.flooded(distinct=True),
        }

    def any(self) -> Hostile:
        """Return one of any shape; those that are large are fewer."""
        shape = self._rng.choices(tuple(self._makers), (70, 25, 2, 3))[0]
        return self._makers[shape]()

    def _random(self) -> Hostile:
        plain = self._rng.choice(self._plain)
        frame = bytearray(plain.frame)
        for _ in range(self._rng.choice([0, 1, 1, 2])):
            self._rng.choice(CHANGES)(frame, self._rng)
        return plain._replace(frame=bytes(frame))

    def _lying(self) -> Hostile:
        """Say that far more follows than does, in one place of the body or in several."""
        plain = self._rng.choice(self._plain)
        frame = bytearray(plain.frame)
        for _ in range(self._rng.randint(1, 3)):
            at = self._rng.randrange(min(8, len(frame)), len(frame) + 1)
            lie = self._rng.choice((*LIES, struct.pack(">i", 1 << 20), b"\x81\x80\x40"))
            frame[at : at + self._rng.choice([0, len(lie)])] = lie
        return Hostile("lying counts", plain.api_key, bytes(frame))

    def flooded(self, *, distinct: bool) -> Hostile:
        """Return one of which one array, if it has any, has many items."""
        kind = self._rng.choice(self._kinds)
        made = instance(kind, self._rng)
        paths = list(_arrays(made))
        if paths:
            made = self._filled(made, self._rng.choice(paths), distinct=distinct)
        shape = "flood of different items" if distinct else "flood of equal items"
        return Hostile(shape, kind.__api_key__, frame_of(made))

    def under_long_names(self) -> Iterator[Hostile]:
        """Give one of each version and array that lies in another: a long name, and many items under it."""
        for kind in self._kinds:
            made = instance(kind, self._rng)
            for path in filter(lambda path: len(path) > 1, _arrays(made)):
                filled = self._filled(made, path, distinct=True, name_of_all="x" * LONG_NAME)
                yield Hostile(f"{'.'.join(path)} under a long name", kind.__api_key__, frame_of(filled))

    def _filled(self, made: Any, path: Sequence[str], *, distinct: bool, name_of_all: str = "") -> Any:
        """Fill one array of a message; those that it lies in have one item each, perhaps with another name."""
        name, *deeper = path
        held = getattr(made, name)
        if not deeper:
            item = _item_of(made, name)
            count = self._rng.choice([10, 100, self._flood])
            one = [self._item(item, number) for number in range(count if distinct else 1)]
            return replace(made, **{name: tuple(one if distinct else one * count)})
        first = held[0]
        if name_of_all:
            texts = [each.name for each in fields(first) if isinstance(getattr(first, each.name), str)]
            first = replace(first, **dict.fromkeys(texts[:1], name_of_all))
        return replace(made, **{name: (self._filled(first, deeper, distinct=distinct, name_of_all=name_of_all),)})

    def _item(self, kind: Any, number: int) -> Any:
        if is_dataclass(kind):
            made = instance(kind, self._rng, 1)
            texts = [each.name for each in fields(made) if isinstance(getattr(made, each.name), str)]
            return replace(made, **{name: _name(number) for name in texts[:1]})
        return _value_of(kind, number)


def _value_of(kind: Any, number: int) -> Any:
    """Return a value of a type that is no message: kio has types of its own for names and numbers."""
    for value in (_name(number), number % (1 << 15), UUID(int=number + 1), b"bytes"):
        if isinstance(value, kind):
            return value
    raise TypeError(f"no value is a {kind}")


def _name(number: int) -> str:
    return NAMES[number] if number < len(NAMES) else f"n{number}"


def frame_of(asked: Any) -> bytes:
    """Return a request of kio's as it arrives."""
    _, frame = Exchange("hostile").ask(asked)
    return bytes(memoryview(frame)[SIZE_BYTES:])


def _arrays(made: Any) -> Iterator[tuple[str, ...]]:
    """Yield where a message has arrays, as far as those above them have an item."""
    for each in fields(made):
        value = getattr(made, each.name)
        if _item_of(made, each.name) is None:
            continue
        yield (each.name,)
        if value and is_dataclass(value[0]):
            yield from ((each.name, *deeper) for deeper in _arrays(value[0]))


def _item_of(made: Any, name: str) -> Any:
    """Return of what type a field has many; None where it has not."""
    (kind,) = (each.type for each in fields(made) if each.name == name)
    for each in (kind, *get_args(kind)):
        if get_origin(each) is tuple:
            return get_args(each)[0]
    return None
