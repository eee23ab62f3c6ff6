"""Where a read of a partition ended: the next one goes on from there."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from epoch.history import MAX_OFFSET

NO_EPOCH: Final = -1
"""Of a log without records, and of records before magic 2."""
_FIELDS: Final = {"offset", "leader_epoch"}
_TOPIC_ID: Final = "topic_id"


class ReadEnd(NamedTuple):
    """The first offset behind what was read, and the leader epoch of the record before it."""

    offset: int
    leader_epoch: int
    topic_id: str | None = None
    """Of the topic, as Kafka writes it; None where the copy did not have it."""

    @classmethod
    def of_json(cls, found: Any) -> "ReadEnd | None":
        """Read it from what JSON holds, as `to_json` gives it; None for anything else."""
        if (
            not isinstance(found, dict)
            or found.keys() - {_TOPIC_ID} != _FIELDS
            or any(type(found[each]) is not int for each in _FIELDS)
            or not isinstance(found.get(_TOPIC_ID, ""), str)
        ):
            return None
        end = cls(**found)
        return end if 0 <= end.offset <= MAX_OFFSET and NO_EPOCH <= end.leader_epoch < 1 << 31 else None

    def to_json(self) -> Mapping[str, int | str]:
        """Give it as an object of JSON."""
        return {name: value for name, value in self._asdict().items() if value is not None}
