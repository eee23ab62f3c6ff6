"""Which copies and offsets a query asks for, as far as its filters tell."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

LARGEST: Final = 2**63 - 1
OFFSETS: Final = frozenset({"base_offset", "last_offset", "offset"})
"""A batch that meets a bound on any of these has an offset within the bound."""
PLACES: Final = frozenset({"replica", "topic", "partition"})


@dataclass(slots=True)
class Selection:
    """Starts with everything; each filter leaves less."""

    places: dict[str, frozenset[Any]] = field(default_factory=dict)
    """The values that are asked for, of the columns that are restricted."""
    first_offset: int = 0
    last_offset: int = LARGEST

    def take(self, filters: Iterable[Filter]) -> Iterator[Filter]:
        """Take over filters, and yield those that Spark has to apply as well: all but those on places."""
        for each in filters:
            if not self._take(each):
                yield each

    def wants(self, **places: object) -> bool:
        """Tell whether a copy is asked for, by what is known of `replica`, `topic` and `partition`.

        >>> Selection({"topic": frozenset({"orders"})}).wants(topic="payments")
        False
        """
        return all(value in self.places[name] for name, value in places.items() if name in self.places)

    def meets(self, first: int, last: int) -> bool:
        """Tell whether any of these offsets is asked for."""
        return first <= self.last_offset and last >= self.first_offset

    def _take(self, each: Filter) -> bool:
        match each:
            case EqualTo(attribute=(name,), value=value) if name in PLACES and value is not None:
                return self._restrict(name, {value})
            case In(attribute=(name,), value=values) if name in PLACES and None not in values:
                return self._restrict(name, values)
            case _:
                self._bound(each)
                return False

    def _restrict(self, name: str, values: Iterable[object]) -> bool:
        self.places[name] = frozenset(values) & self.places.get(name, frozenset(values))
        return True

    def _bound(self, each: Filter) -> None:
        name, value = getattr(each, "attribute", None), getattr(each, "value", None)
        bound = _BOUNDS.get(type(each))
        if bound is None or name is None or len(name) != 1 or name[0] not in OFFSETS or not isinstance(value, int):
            return
        first, last = bound(value)
        self.first_offset = max(self.first_offset, first)
        self.last_offset = min(self.last_offset, last)


_BOUNDS: Final[dict[type[Filter], Callable[[int], tuple[int, int]]]] = {
    EqualTo: lambda value: (value, value),
    GreaterThan: lambda value: (value + 1, LARGEST),
    GreaterThanOrEqual: lambda value: (value, LARGEST),
    LessThan: lambda value: (0, value - 1),
    LessThanOrEqual: lambda value: (0, value),
}
