"""The values of settings: what their text stands for, and which of them are allowed (Kafka: ConfigDef)."""

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

from replication.base.int32 import INT32

_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What Java's String.trim takes away."""
_INT64: Final = range(-(2**63), 2**63)
_WHOLE: Final = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>\d{1,19})")
"""No more digits than an int64 may have: of very many Python makes no number, but a ValueError."""
_DECIMAL: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LITERAL: Final = {"true": True, "false": False}
_MOST_SHOWN: Final = 60
"""Characters of a value: Kafka shows all."""
_REPLICA: Final = re.compile(r"\d+:\d+")


class SettingType(IntEnum):
    """What the text of a value stands for, with the numbers of Kafka's answers (Kafka: ConfigDef.Type)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7
    """Texts with commas between them."""


class Allowed(Protocol):
    """Which values a setting may take."""

    def fault(self, name: str, value: Any) -> tuple[str, str] | None:
        """Return what of a value is not allowed, and why; None where all is."""


class Anything:
    """Every value of the type."""

    def fault(self, name: str, value: Any) -> None:
        """Return None."""


class Between(NamedTuple):
    """Numbers from `least` to `most`; without an upper bound where that is None."""

    least: int
    most: int | None = None

    def fault(self, name: str, value: float) -> tuple[str, str] | None:
        """Return whether a number is too small or too large."""
        del name
        if not value >= self.least:
            return str(value), f"Value must be at least {self.least}"
        if self.most is not None and value > self.most:
            return str(value), f"Value must be no more than {self.most}"
        return None


class GzipLevels:
    """1 to 9, or -1 for the default."""

    def fault(self, name: str, value: int) -> tuple[str, str] | None:
        """Return why a number is no level."""
        del name
        if value == -1 or value in range(1, 10):
            return None
        return str(value), "Value must be between 1 and 9 or equal to -1"


class OneOf(NamedTuple):
    """Some texts; of a list, each part must be one of them."""

    texts: tuple[str, ...]

    def fault(self, name: str, value: str | Sequence[str]) -> tuple[str, str] | None:
        """Return the first text that is none of them."""
        del name
        parts = (value,) if isinstance(value, str) else value
        wrong = next((part for part in parts if part not in self.texts), None)
        return None if wrong is None else (wrong, f"String must be one of: {', '.join(self.texts)}")


class ThrottledReplicas:
    """Partitions with brokers, or a star for all (Kafka: ThrottledReplicaListValidator)."""

    def fault(self, name: str, value: Sequence[str]) -> tuple[str, str] | None:
        """Return why this is no list of them."""
        if list(value) == ["*"] or all(_REPLICA.fullmatch(part) for part in value):
            return None
        pair = "[partitionId]:[brokerId]"
        return (
            f"[{', '.join(value)}]",
            f"{name} must be the literal '*' or a list of replicas in the following format: {pair},{pair},...",
        )


def value_fault(name: str, type_: int, allowed: Allowed, text: str) -> str | None:
    """Return what is wrong with a value, in Kafka's words; None where nothing is."""
    try:
        value = parse_value(type_, text)
    except ValueError as error:
        return f"Invalid value {_brief(text)} for configuration {name}: {error}"
    fault = allowed.fault(name, value)
    return None if fault is None else f"Invalid value {_brief(fault[0])} for configuration {name}: {fault[1]}"


def parse_value(type_: int, text: str) -> Any:
    """Return what the text of a value stands for, as Kafka reads it. Raises ValueError, in Kafka's words."""
    text = text.strip(_BLANKS)
    match type_:
        case SettingType.BOOLEAN:
            if text.lower() not in _LITERAL:
                raise ValueError("Expected value to be either true or false")
            return _LITERAL[text.lower()]
        case SettingType.INT | SettingType.LONG:
            bounds, kind = (INT32, "INT") if type_ == SettingType.INT else (_INT64, "LONG")
            match = _WHOLE.fullmatch(text)
            number = None if match is None else int(match["sign"] + match["digits"])
            if number is None or number not in bounds:
                raise ValueError(f"Not a number of type {kind}")
            return number
        case SettingType.DOUBLE:
            if not _DECIMAL.fullmatch(text):
                raise ValueError("Not a number of type DOUBLE")
            return float(text)
        case SettingType.LIST:
            return parts_of(text)
    return text


def parts_of(text: str) -> list[str]:
    """Return the parts of a list."""
    return [part.strip(_BLANKS) for part in text.split(",") if part.strip(_BLANKS)]


def _brief(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
