"""What changed about the brokers since they were last looked at."""

from collections.abc import Mapping
from typing import NamedTuple


class BrokerChanges(NamedTuple):
    """The ids, ascending."""

    new: list[int]
    dead: list[int]
    bounced: list[int]
    """Registered anew since: to be treated as dead and then as new."""


def changes_between(known: Mapping[int, int], listed: Mapping[int, int]) -> BrokerChanges:
    """Compare the broker epochs that are known, by id, with those that the store lists."""
    return BrokerChanges(
        new=sorted(listed.keys() - known.keys()),
        dead=sorted(known.keys() - listed.keys()),
        bounced=sorted(each for each in listed.keys() & known.keys() if listed[each] > known[each]),
    )
