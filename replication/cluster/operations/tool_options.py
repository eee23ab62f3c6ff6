"""Options as Kafka's tools read them (joptsimple, without abbreviations)."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from replication.cluster.operations.tool_error import ToolError

END_OF_OPTIONS: Final = "--"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """The values given for each option; flags have none. Arguments that are not options are ignored, as by Kafka."""

    given: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, arguments: Iterable[str], valued: Collection[str], flags: Collection[str]) -> "ToolOptions":
        """Read `--name VALUE`, `--name=VALUE` and the same with one dash. Raises ToolError.

        The argument after an option is its value, whatever it looks like.
        """
        left = deque(arguments)
        given: dict[str, tuple[str, ...]] = {}
        while left and (argument := left.popleft()) != END_OF_OPTIONS:
            if not argument.startswith("-") or argument == "-":
                continue
            name, value = _named(argument, {*valued, *flags})
            values = given.setdefault(name, ())
            if name in valued:
                given[name] = (*values, value or _next(left, name))
        return cls(given)

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def values(self, name: str) -> tuple[str, ...]:
        """Return all values of an option."""
        return self.given.get(name, ())

    def value(self, name: str, parse: Callable[[str], T]) -> T | None:
        """Return the value of an option, None if it was not given.

        Raises the errors of `parse`, and ToolError if the option was given twice.
        """
        values = [parse(text) for text in self.values(name)]
        if len(values) > 1:
            raise ToolError(f"Found multiple arguments for option {name}, but you asked for only one")
        return values[0] if values else None


def _named(argument: str, known: Collection[str]) -> tuple[str, str]:
    """Return the option and the value behind its `=`."""
    is_long = argument.startswith("--")
    name, _, value = argument[2 if is_long else 1 :].partition("=")
    if name not in known:
        # After one dash Kafka looks for options of one letter, and there are none.
        raise ToolError(f"{name if is_long else argument[1]} is not a recognized option")
    return name, value


def _next(left: deque[str], name: str) -> str:
    if not left:
        raise ToolError(f"Option {name} requires an argument")
    return left.popleft()
