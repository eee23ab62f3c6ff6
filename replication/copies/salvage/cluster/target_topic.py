"""Whether a topic takes salvaged records as they are: what its settings would refuse, change or delete."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from replication.base.counted import counted
from replication.copies.salvage.cluster.needs import Needs

OPERATIONS: Final = frozenset({"READ", "WRITE"})
"""What whoever writes must be allowed: to read, since what is there already is looked for."""

_NEEDED: Final = frozenset(
    {"cleanup.policy", "max.message.bytes", "message.timestamp.type", "retention.ms", "segment.bytes"}
)
_BEFORE: Final = "message.timestamp.before.max.ms"
_AFTER: Final = "message.timestamp.after.max.ms"
_BOTH_WAYS: Final = "message.timestamp.difference.max.ms"
"""Up to Kafka 3.9; until 3.5 the only one."""
_DEFAULT: Final = str(2**63 - 1)


@dataclass(frozen=True, slots=True)
class TargetTopic:
    """A topic as the cluster describes it."""

    name: str
    partitions: int
    settings: Mapping[str, str]
    """By Kafka's names, with what holds where the topic itself has none."""
    allowed: frozenset[str] = OPERATIONS
    """The operations of access control, in capitals, that the client may do."""

    @property
    def largest_batch(self) -> int:
        """The bytes that a batch may have."""
        return self._number(self._limit_of_size)

    def problems(self, needs: Needs, now: int) -> Iterator[str]:
        """Name each setting that stands against records being written; `now` in milliseconds since 1970 UTC."""
        if missing := sorted(OPERATIONS - self.allowed):
            yield f"this client may not {' and '.join(missing)} it: give its user these ACLs"
        if needs.partition.partition >= self.partitions:
            yield f"it has {self.partitions} partitions, and {needs.partition} has records: add partitions"
        if missing := sorted(_NEEDED - self.settings.keys()):
            yield f"its brokers do not report {' and '.join(missing)}: write the records to a file"
            return
        yield from self._problems_of_size(needs)
        yield from self._problems_of_time(needs, now)
        yield from self._problems_of_compaction(needs)

    def _problems_of_size(self, needs: Needs) -> Iterator[str]:
        if needs.largest > self.largest_batch:
            yield (
                f"{self._limit_of_size} is {self.largest_batch}, and the record of {needs.partition} at offset "
                f"{needs.largest_offset} needs {needs.largest}"
            )

    def _problems_of_time(self, needs: Needs, now: int) -> Iterator[str]:
        if self.settings["message.timestamp.type"] != "CreateTime":
            yield (
                f"message.timestamp.type is {self.settings['message.timestamp.type']}, which would change all "
                "timestamps: set it to CreateTime"
            )
        if needs.at_zero:
            yield (
                f"{_have(needs.at_zero, needs)} the timestamp 0, which the client would "
                "replace by the time of sending: write them to a file"
            )
        if needs.oldest is None or needs.newest is None:
            return
        age, ahead = now - needs.oldest, needs.newest - now
        before, after = self._time_limit(_BEFORE), self._time_limit(_AFTER)
        if before is None or after is None:
            yield f"its brokers do not report {_BEFORE} and {_AFTER}, nor {_BOTH_WAYS}: write the records to a file"
            return
        if age > self._number(before):
            yield f"{before} is {self._number(before)}, and a record of {needs.partition} is {age} ms old"
        if ahead > self._number(after):
            yield f"{after} is {self._number(after)}, and a record of {needs.partition} is {ahead} ms in the future"
        retention = self._number("retention.ms")
        if "delete" in self._policies and 0 <= retention < age:
            yield (
                f"retention.ms is {retention}, and a record of {needs.partition} is {age} ms old: it would be deleted "
                "soon; raise it, or set -1"
            )

    def _problems_of_compaction(self, needs: Needs) -> Iterator[str]:
        if "compact" not in self._policies:
            return
        policy = self.settings["cleanup.policy"]
        if needs.keyless:
            yield f"cleanup.policy is {policy}, and {_have(needs.keyless, needs)} no key"
        elif not needs.is_compacted:
            yield (
                f"cleanup.policy is {policy}, and {needs.partition} was not compacted as far as the copies show: "
                "name its topic with --compacted-topics if it is, or choose another target"
            )

    @property
    def _policies(self) -> set[str]:
        return {each.strip() for each in self.settings["cleanup.policy"].split(",")}

    def _time_limit(self, setting: str) -> str | None:
        """Name the setting that counts: that for both ways where brokers have it and the one for one way is not set."""
        if self.settings.get(setting, _DEFAULT) == _DEFAULT and _BOTH_WAYS in self.settings:
            return _BOTH_WAYS
        return setting if setting in self.settings else None

    @property
    def _limit_of_size(self) -> str:
        """The setting that limits a batch: a segment has to hold it."""
        return min("max.message.bytes", "segment.bytes", key=self._number)

    def _number(self, setting: str) -> int:
        return int(self.settings[setting])


def _have(number: int, needs: Needs) -> str:
    return f"{counted(number, 'record')} of {needs.partition} {'has' if number == 1 else 'have'}"
