"""Which names topics may have (Kafka: Topic)."""

import re
from collections.abc import Iterable
from typing import Final

from kio.schema.errors import ErrorCode

from replication.controller.refusal import Refusal

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST: Final = 249


def check_name(name: str, others: Iterable[str]) -> None:
    """Refuse with INVALID_TOPIC_EXCEPTION a name that no topic may have.

    Also one that differs from another only in dots and underscores: their metrics would have the same names.
    """
    fault = _fault(name)
    if fault:
        raise Refusal(ErrorCode.invalid_topic_exception, fault)
    plain = name.replace(".", "_")
    if "_" not in plain:
        return
    for other in others:
        if other != name and other.replace(".", "_") == plain:
            raise Refusal(ErrorCode.invalid_topic_exception, f"Topic '{name}' collides with existing topic: {other}")


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
