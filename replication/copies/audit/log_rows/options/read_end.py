"""Where a read of a partition ended: the next one goes on from there."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from epoch.history import MAX_OFFSET

NO_EPOCH: Final = -1
"""Of a log without records, and of records before magic 2."""
_FIELDS: Final = {"offset", "leader_epoch"}


class ReadEnd(NamedTuple):
    """The first offset behind what was read, and the leader epoch of the record before it."""

    offset: int
    leader_epoch: int

    @classmethod
    def of_json(cls, found: Any) -> "ReadEnd | None":
        """Read it from what JSON holds, as `to_json` gives it; None for anything else."""
        if (
            not isinstance(found, dict)
            or found.keys() != _FIELDS
            or any(type(each) is not int for each in found.values())
        ):
            return None
        end = cls(**found)
        return end if 0 <= end.offset <= MAX_OFFSET and NO_EPOCH <= end.leader_epoch < 1 << 31 else None

    def to_json(self) -> Mapping[str, int]:
        """Give it as an object of JSON."""
        return self._asdict()
