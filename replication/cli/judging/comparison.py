"""What `plan`, `advise` and `epochs` share: they report a partition that cannot be judged, and continue."""

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replication.base.errors import PartitionVanishedError
from replication.cli.output.failure import error_as_json
from replication.cli.output.printing import complain, told

if TYPE_CHECKING:
    from logstore.topic_partition import TopicPartition
    from replication.copies.planning.damage import Damage
    from replication.copies.planning.replica import Replica

ReplicationFactorOption = Annotated[
    int | None,
    typer.Option(
        "--replication-factor",
        metavar="N",
        min=1,
        help="How many copies there should be of partitions that no replica's cluster metadata mentions.",
        show_default=False,
    ),
]


class Failures:
    """Reports on standard error, at once, which partitions could not be judged.

    That a broker deletes partitions is in the nature of things: it counts only where nothing is left to be judged.
    """

    def __init__(self) -> None:
        self._failed = self._vanished = False
        self._told: list[dict[str, Any]] = []

    def __call__(self, partition: "TopicPartition", error: Exception) -> None:
        """Print and remember one failure."""
        if isinstance(error, PartitionVanishedError):
            self._vanished = True
        else:
            self._failed = True
        complain(f"{partition}: {told(error)}")
        self._told.append({"topic": partition.topic, "partition": partition.partition, **error_as_json(error)})

    def as_json(self) -> list[dict[str, Any]]:
        """Return all failures as `--json` prints them."""
        return self._told

    def matter(self, judged: Sequence[object]) -> bool:
        """Whether the command could not do all of it, with these partitions judged."""
        return self._failed or (self._vanished and not judged)


def name_what_is_left_out(
    replicas: Sequence["Replica"], judged: Container["TopicPartition"] = ()
) -> list[dict[str, Any]]:
    """Print on standard error which partitions only one of the replicas holds; return them as for `--json`.

    Those that were `judged` all the same, since another should have them, are left out.
    """
    from replication.copies.planning.replica import held_by_one

    alone = {
        name: [each for each in partitions if each not in judged]
        for name, partitions in held_by_one(replicas).items()
        if not all(each in judged for each in partitions)
    }
    for name, partitions in alone.items():
        complain(f"not compared, since only {name} holds them: {', '.join(map(str, partitions))}")
    return [{**each._asdict(), "replica": name} for name, partitions in alone.items() for each in partitions]


def name_what_is_missing(missing: "Mapping[TopicPartition, tuple[str, ...]]") -> list[dict[str, Any]]:
    """Print on standard error which replicas lack copies that they should have; return them as for `--json`."""
    lacking: dict[str, list[TopicPartition]] = {}
    for partition, names in sorted(missing.items()):
        for name in names:
            lacking.setdefault(name, []).append(partition)
    for name, partitions in sorted(lacking.items()):
        whose = name or "one of the replicas (which one is not known)"
        complain(f"{whose} lacks partitions that it should have: {', '.join(map(str, partitions))}")
    return [{**each._asdict(), "replica": name} for name, partitions in lacking.items() for each in partitions]


def tell_of_damage(partition: str, replica: str, damage: "Damage | str | None") -> None:
    """Print on standard error that a replica's log ends where it does because it is damaged, if it is."""
    if damage:
        complain(f"{partition}: {replica} is damaged: {damage}")
