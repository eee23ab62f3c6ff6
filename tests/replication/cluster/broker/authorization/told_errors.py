"""What an answer says of what its caller may do: its errors, and the rights and the names that it tells.

Nobody coordinates transactions beside ours: a real broker's answers to whoever may use them are left out. So are its
messages where it prints an object of its own or releases differ, and the settings of topics that nobody makes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from replication.wire.error_code import ErrorCode

_OTHER_WORDS: Final = (
    "ProduceResponse",
    "ElectLeadersResponse",
    "ListedReassignments",
    "AlterPartitionReassignmentsResponse",
    "AlterConfigsResponse",
    "IncrementalAlterConfigsResponse",
    "AlterClientQuotasResponse",
    "AlterUserScramCredentialsResponse",
    "DescribeClientQuotasResponse",
)
"""Of these the errors are compared, not what is said of them."""
_NO_COORDINATOR: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_NAMES: Final = (
    "name",
    "resource_name",
    "topic",
    "topic_id",
    "partition_index",
    "group_id",
    "key",
    "member_id",
    "user",
)
"""What entries of an answer go by, whatever their order."""


def told_errors(theirs: Any, ours: Any) -> tuple[Mapping[Any, Any], Mapping[Any, Any]]:
    """Return of both the errors, the sets of operations, and the topics, groups and the like, by their places."""
    told = dict(_told((), theirs)), dict(_told((), ours))
    if type(theirs).__name__ == "InitProducerIdResponse" and theirs.error_code in _NO_COORDINATOR:
        return {}, {}
    if type(theirs).__name__ == "CreateTopicsResponse":
        return _without_settings(told[0]), _without_settings(told[1])
    if type(theirs).__name__ in _OTHER_WORDS:
        return _without_messages(told[0]), _without_messages(told[1])
    return told


def _without_settings(told: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return {place: each for place, each in told.items() if "configs" not in place}


def _without_messages(told: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return {place: each for place, each in told.items() if place[-1] != "error_message"}


def _told(place: tuple[Any, ...], value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, Mapping):
        yield (*place, "keys"), frozenset(value)
        entries = list(value.items())
    elif is_dataclass(value):
        entries = [(field.name, getattr(value, field.name)) for field in fields(value)]
    elif hasattr(value, "_asdict"):
        entries = list(value._asdict().items())
    elif isinstance(value, tuple | list):
        entries = [(_name(each, number), each) for number, each in enumerate(value)]
        yield (*place, "keys"), frozenset(name for name, _ in entries)
    else:
        last = place[-1] if place else None
        if last in {"error", "error_code", "error_message", "topic_config_error_code", "authorized_operations"}:
            yield place, value
        return
    for name, each in entries:
        yield from _told((*place, name), each)


def _name(each: Any, number: int) -> Any:
    known = [getattr(each, name) for name in _NAMES if getattr(each, name, None) is not None]
    return known[0] if known else number
