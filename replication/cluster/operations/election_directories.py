"""The log directories of brokers, as somebody names them who is about to elect leaders."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from logstore.errors import NotALogDirectoryError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.meta_properties import MetaProperties
from replication.base.int32 import parse_int32
from replication.cluster.operations.tool_error import ToolError
from replication.copies.planning.failures import OnError
from replication.copies.planning.named_roots import directories_in
from replication.copies.planning.replica import Replica, open_named_replicas

_MIN_REPLICAS: Final = 2


def ensure_of_cluster(arguments: Iterable[str], cluster_id: str) -> None:
    """Raise ToolError if an `[ID=]DIR` argument is a directory of another cluster, according to its meta.properties."""
    for _, path in (each for argument in arguments for each in _roots_of(argument)):
        try:
            found = MetaProperties.read(path / META_PROPERTIES_NAME).cluster_id
        except FileNotFoundError:
            continue
        if found is not None and found != cluster_id:
            raise ToolError(f"{path}: it belongs to cluster {found}, but the elections are in {cluster_id}")


def open_log_directories(arguments: Sequence[str], on_error: OnError) -> list[Replica]:
    """Open `[ID=]DIR` arguments as replicas named by their brokers' ids; a broker may have several disks.

    Without an ID it is read from meta.properties, in the directory or in each of the roots that it holds. Raises
    ToolError if none is known, if there are fewer than two brokers, or two copies of a partition on one broker, and the
    errors of `open_named_replicas`.
    """
    directories = [_known(*each) for argument in arguments for each in _roots_of(argument)]
    if len({broker_id for broker_id, _ in directories}) < _MIN_REPLICAS:
        raise ToolError("Option log-dir is needed for at least two brokers: losses are found by comparing their copies")
    opened = open_named_replicas([path for _, path in directories], on_error=on_error)
    replicas: dict[int, Replica] = {}
    for (broker_id, path), disk in zip(directories, opened, strict=True):
        named = replace(disk, name=str(broker_id), node_id=broker_id)
        replicas[broker_id] = _joined(replicas[broker_id], named, path) if broker_id in replicas else named
    return list(replicas.values())


def _joined(one: Replica, other: Replica, path: Path) -> Replica:
    """Return what two disks of one broker hold together; `path` is the second disk. Raises ToolError."""
    if twice := sorted(one.held & other.held):
        raise ToolError(
            f"{path}: broker {one.name} has another directory that holds {twice[0]}; give only one copy of each disk"
        )
    return replace(one, partitions={**one.partitions, **other.partitions}, left_out={**one.left_out, **other.left_out})


def _roots_of(argument: str) -> list[tuple[int | None, Path]]:
    """Return what an argument names: a directory whose broker is known, or else all roots in it."""
    named, path = _split(argument)
    if named is not None or (path / META_PROPERTIES_NAME).exists() or not path.is_dir():
        return [(named, path)]
    try:
        found = [each.path for each in directories_in(path)]
    except NotALogDirectoryError:
        return [(None, path)]
    return [(None, path / each.relative_to(path.absolute())) for each in found]


def _known(named: int | None, path: Path) -> tuple[int, Path]:
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
