"""Which partitions are looked at, by who holds what."""

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final, NamedTuple

from logstore.shown_text import shown
from logstore.topic_partition import ALWAYS_COMPACTED, TopicPartition
from replication.base.chosen_topics import is_chosen
from replication.base.errors import NothingChosenError
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.salvage.errors import UnknownBrokerError

KAFKAS_OWN: Final = ALWAYS_COMPACTED | {METADATA_PARTITION.topic}
"""Topics whose records mean something only to the broker that wrote them."""


class Holding(NamedTuple):
    """What one broker's copy holds."""

    name: str
    node_id: int | None
    partitions: AbstractSet[TopicPartition]
    """Those that can be opened."""
    held: AbstractSet[TopicPartition]
    """All, whether they can be opened or not."""
    is_root: bool = True
    """Whether it is all that the broker has, so that what is not in it is lacking."""
    paths: tuple[Path, ...] = ()
    """Where it is, as it was named: several where its roots were named one by one."""

    def is_called(self, name: str) -> bool:
        """Whether a person means this one, by what is printed of it or by where it is."""
        printed = {shown(self.name)}
        if self.node_id is not None:
            printed |= {f"broker {self.node_id}", f"{shown(self.name)} (broker {self.node_id})"}
        return name in printed or Path(name).absolute() in {path.absolute() for path in self.paths}


class SalvageChoice(NamedTuple):
    """What is looked at."""

    kept: str
    """The name of the kept copy."""
    partitions: Sequence[TopicPartition]
    lacking: Sequence[TopicPartition] = ()
    """Partitions that other copies hold and the kept one does not, and that are not looked at: no topic was named."""

    @classmethod
    def among(
        cls, holdings: Sequence[Holding], kept: str, topics: Sequence[str], compacted: Collection[str]
    ) -> "SalvageChoice":
        """Choose partitions as `plan_salvage` does, whose errors of these arguments are raised."""
        chosen = _kept(holdings, kept)
        known = {partition.topic for each in holdings for partition in each.held}
        _refuse_unknown((each for each in topics if not any(is_chosen(topic, [each]) for topic in known)), known)
        _refuse_unknown({*compacted} - known, known)
        others = {each for other in holdings if other is not chosen for each in other.partitions}
        common = sorted(others & chosen.partitions)
        lacking = sorted(others - chosen.held) if chosen.is_root else []
        if topics:
            partitions = sorted(each for each in (*common, *lacking) if _is_chosen(each.topic, topics))
            if not partitions:
                raise NothingChosenError(topics, {each.topic for each in (*common, *lacking)})
            return cls(chosen.name, partitions)
        return cls(chosen.name, _without_kafkas_own(common), _without_kafkas_own(lacking))


def _kept(holdings: Sequence[Holding], kept: str) -> Holding:
    for each in holdings:
        if kept == each.name:
            return each
    for each in holdings:
        if each.node_id is not None and kept == str(each.node_id):
            return each
    for each in holdings:
        if each.is_called(kept):
            return each
    raise UnknownBrokerError(kept, {each.name: each.node_id for each in holdings})


def _refuse_unknown(unknown: Iterable[str], known: Collection[str]) -> None:
    if named := sorted({*unknown}):
        raise NothingChosenError(named, known)


def _is_chosen(topic: str, topics: Collection[str]) -> bool:
    """Whether a topic is named, or is none of Kafka's own and matches a pattern."""
    return topic in topics or (topic not in KAFKAS_OWN and is_chosen(topic, topics))


def _without_kafkas_own(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    return [each for each in partitions if each.topic not in KAFKAS_OWN]
