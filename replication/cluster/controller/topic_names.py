"""Which names topics may have (Kafka: Topic)."""

import re
from typing import Final

from replication.cluster.controller.refusal import Refusal
from replication.wire.error_code import ErrorCode

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST: Final = 249


class TopicNames:
    """The names of the topics that there are, found by what their metrics are called (Kafka: topicsWithCollisionChars).

    In the names of metrics a dot is an underscore: two topics that differ in nothing else would share theirs.
    """

    def __init__(self) -> None:
        self._by_metric: dict[str, dict[str, None]] = {}
        """In the order of their creation."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TopicNames) and self._by_metric == other._by_metric

    __hash__ = None  # type: ignore[assignment]

    def add(self, name: str) -> None:
        """Add a topic."""
        self._by_metric.setdefault(_metric(name), {})[name] = None

    def discard(self, name: str) -> None:
        """Forget a topic."""
        alike = self._by_metric.get(_metric(name), {})
        alike.pop(name, None)
        if not alike:
            self._by_metric.pop(_metric(name), None)

    def check(self, name: str) -> None:
        """Refuse with INVALID_TOPIC_EXCEPTION a name that no topic may have, or one too similar to another's."""
        check_name(name)
        for other in self._by_metric.get(_metric(name), ()):
            if other != name:
                collision = f"Topic '{name}' collides with existing topic: {other}"
                raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, collision)


def check_name(name: str) -> None:
    """Refuse with INVALID_TOPIC_EXCEPTION a name that no topic may have."""
    fault = _fault(name)
    if fault:
        raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)


def _metric(name: str) -> str:
    return name.replace(".", "_")


def _fault(name: str) -> str | None:
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in {".", ".."}:
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > _LONGEST:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {_LONGEST}"
    if not _LEGAL.fullmatch(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', "
            "'_' and '-'"
        )
    return None
