"""What an unclean election would lose, computed from the log directories of brokers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from logstore.files.meta_properties import META_PROPERTIES_NAME, MetaProperties
from replication.int32 import parse_int32
from replication.operations.election_forecast import ElectionForecast
from replication.operations.tool_error import ToolError
from replication.planning import Advice, Replica, Standing, advise
from replication.planning.failures import PARTITION_ERRORS, OnError
from replication.planning.replica import holding, open_named_replicas
from replication.planning.rereading import judge_copies

_MIN_REPLICAS: Final = 2


def ensure_of_cluster(arguments: Iterable[str], cluster_id: str) -> None:
    """Raise ToolError if an `[ID=]DIR` argument is a directory of another cluster, according to its meta.properties."""
    for _, path in map(_split, arguments):
        try:
            found = MetaProperties.read(path / META_PROPERTIES_NAME).cluster_id
        except FileNotFoundError:
            continue
        if found is not None and found != cluster_id:
            raise ToolError(f"{path}: it belongs to cluster {found}, but the elections are in {cluster_id}")


@dataclass(frozen=True, slots=True)
class ElectionLosses:
    """What the other replicas of a partition truncate under its new leader, as far as their copies show."""

    foreseen: ElectionForecast
    advice: Advice | None
    """How the copies compare; None if fewer than two can be compared."""
    not_compared: tuple[int, ...]
    """The replicas that have no copy here."""

    @classmethod
    def of(cls, foreseen: ElectionForecast, copies: Sequence[Replica], on_error: OnError) -> "ElectionLosses":
        """Compare the copies of the partition's replicas; `on_error` is called for those that cannot be compared.

        Copies of brokers that are not replicas are ignored: they can neither lead nor truncate.
        """
        partition = foreseen.partition
        held = holding((copy for copy in copies if int(copy.name) in foreseen.replicas), partition)
        absent = tuple(each for each in foreseen.replicas if str(each) not in held)
        try:
            advice = judge_copies(partition, held, partial(advise, partition), on_error)
        except PARTITION_ERRORS as error:
            on_error(partition, error)
            advice = None
        return cls(foreseen, advice, absent)

    @property
    def leader(self) -> Standing | None:
        """How the new leader's copy compares with the others; None if it was not compared."""
        standings = self.advice.replicas if self.advice else ()
        return next((each for each in standings if each.replica == str(self.foreseen.would_lead)), None)

    @property
    def recommended(self) -> int | None:
        """Under whom the fewest records are lost, a sound copy first; the new leader itself if it is one of these.

        None if not known.
        """
        if self.advice is None or self.leader is None:
            return None
        return int(min(self.advice.replicas, key=partial(_rank, self.advice, self.leader)).replica)

    @property
    def lost_under_recommended(self) -> int | None:
        """How many records are lost if the recommended replica leads. None if not known."""
        if self.advice is None or self.recommended is None:
            return None
        return self.advice.lost_under(str(self.recommended))

    def as_json(self) -> Mapping[str, Any]:
        """Return what can be written as JSON."""
        return {
            "lost": self.leader.as_json()["lost"] if self.leader else None,
            "recommended": self.recommended,
            "damaged": [
                {"broker": int(each.replica), **each.damage.as_json()}
                for each in (self.advice.replicas if self.advice else ())
                if each.damage
            ],
            "not_compared": self.not_compared,
        }


def _rank(advice: Advice, foreseen: Standing, standing: Standing) -> tuple[int, bool, bool, bool, int, int]:
    return (
        advice.lost_under(standing.replica),
        standing.damage is not None,
        standing is not foreseen,
        standing.replica != advice.recommended,
        -standing.last_epoch,
        -standing.end_offset,
    )


def open_log_directories(arguments: Sequence[str], on_error: OnError) -> list[Replica]:
    """Open `[ID=]DIR` arguments as replicas named by their brokers' ids; a broker may have several disks.

    Without an ID it is read from the directory's meta.properties. Raises ToolError if none is known, if there are
    fewer than two brokers, or two copies of a partition on one broker, and the errors of `open_named_replicas`.
    """
    directories = [_parsed(argument) for argument in arguments]
    if len({broker_id for broker_id, _ in directories}) < _MIN_REPLICAS:
        raise ToolError("Option log-dir is needed for at least two brokers: losses are found by comparing their copies")
    opened = open_named_replicas([path for _, path in directories], on_error=on_error)
    replicas: dict[int, Replica] = {}
    for (broker_id, path), disk in zip(directories, opened, strict=True):
        named = replace(disk, name=str(broker_id))
        replicas[broker_id] = _joined(replicas[broker_id], named, path) if broker_id in replicas else named
    return list(replicas.values())


def _joined(one: Replica, other: Replica, path: Path) -> Replica:
    """Return what two disks of one broker hold together; `path` is the second disk. Raises ToolError."""
    if twice := sorted(one.held & other.held):
        raise ToolError(
            f"{path}: broker {one.name} has another directory that holds {twice[0]}; give only one copy of each disk"
        )
    return replace(one, partitions={**one.partitions, **other.partitions}, left_out={**one.left_out, **other.left_out})


def _parsed(argument: str) -> tuple[int, Path]:
    named, path = _split(argument)
    if named is not None:
        return named, path
    try:
        broker_id = MetaProperties.read(path / META_PROPERTIES_NAME).node_id
    except FileNotFoundError as error:
        if not path.exists():
            raise ToolError(f"{path}: no such directory") from error
        broker_id = None
    if broker_id is None:
        raise ToolError(f"{path}: it has no {META_PROPERTIES_NAME} that names its broker; write ID={path}")
    return broker_id, path


def _split(argument: str) -> tuple[int | None, Path]:
    name, _, path = argument.partition("=")
    broker_id = parse_int32(name) if name.isdecimal() else None
    return (None, Path(argument)) if broker_id is None or not path else (broker_id, Path(path))
