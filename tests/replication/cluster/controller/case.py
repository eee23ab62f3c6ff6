"""A recorded case, and what keeps a runner honest: a field that it does not know fails."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Document: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One case: `check` passes or raises."""

    name: str
    check: Callable[[], None]
    not_yet: str = ""
    """What is missing for it; such a case is expected to fail."""


Cases: TypeAlias = Iterator[Case]


def only(given: Mapping[str, Any], *known: str) -> None:
    """Fail on fields that nobody looks at."""
    unknown = set(given) - set(known)
    assert not unknown, f"nobody knows what {', '.join(sorted(unknown))} mean in {given}"


def missing(what: str) -> Callable[[], None]:
    """Return the check of a case whose code does not exist yet."""

    def check() -> None:
        raise NotImplementedError(f"there is no {what} yet")

    return check
