"""`epochlog serve --read-only`: copies of brokers' directories, for clients that read."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from replication.base.counted import counted
from replication.base.stop_request import StopRequest
from replication.cli.output.printing import complain, complain_in_json, print_json_line, progress_bar, shown, told
from replication.cli.output.prose import wrapped
from replication.cli.serving.until_told import until_told
from replication.cluster.serving.leader_choice import LeaderChoice

if TYPE_CHECKING:
    from replication.cli.settings.serving_properties import ServingProperties
    from replication.cluster.serving.cluster_server import ClusterServer
    from replication.cluster.serving.frozen_cluster import FrozenCluster
    from replication.cluster.serving.unserved import Unserved

_PAUSE_SECONDS: Final = 0.5


def serve_copies(
    copies: Sequence[Path],
    properties: "ServingProperties",
    leader: LeaderChoice,
    advertised_host: str | None,
    *,
    committed_offsets: bool,
    check: bool,
    json: bool,
) -> None:
    """Answer clients until told to stop; with `check` all is read first."""
    from replication.cluster.serving.cluster_server import ClusterServer
    from replication.cluster.serving.frozen_cluster import FrozenCluster

    with until_told() as stop, FrozenCluster.open(copies, leader) as cluster:
        if check and not _is_checked(cluster, stop, wanted=not json):
            return
        unserved = [*cluster.unserved, *cluster.damages.found]
        unchecked_bytes = 0 if check else cluster.unchecked_bytes
        cluster.damages.observer = _complain_in_json if json else _complain
        with ClusterServer(
            cluster,
            properties.listener,
            properties.limits,
            saved_groups=committed_offsets,
            advertised_host=advertised_host,
        ) as server:
            if json:
                print_json_line(_as_json(cluster, server, unserved, unchecked_bytes))
            else:
                for line in _lines(cluster, server, unchecked_bytes):
                    print(line, flush=True)
                _complain_of_all(cluster, unserved)
            while not stop.wait(_PAUSE_SECONDS):
                pass


class _StoppedError(Exception):
    pass


def _is_checked(cluster: "FrozenCluster", stop: StopRequest, *, wanted: bool) -> bool:
    """Read all; return False where that was interrupted."""
    from replication.cluster.serving.checking import check_copies

    size = sum(hosted.log.size for partitions in cluster.hosted.values() for hosted in partitions.values())
    with progress_bar("checking", size, wanted=wanted) as bar:

        def advance(amount: int) -> None:
            if stop.is_made:
                raise _StoppedError
            bar(amount)

        try:
            check_copies(cluster, advance)
        except _StoppedError:
            return False
    return True


def _as_json(
    cluster: "FrozenCluster", server: "ClusterServer", unserved: Sequence["Unserved"], unchecked_bytes: int
) -> dict[str, Any]:
    return {
        "cluster_id": cluster.cluster_id,
        "bootstrap": server.bootstrap,
        "brokers": [
            {
                "node_id": each.node_id,
                "copy": each.name,
                "address": str(server.addresses[each.node_id]),
                "partitions": len(cluster.hosted[each.node_id]),
                "leads": sum(hosted.is_leader for hosted in cluster.hosted[each.node_id].values()),
            }
            for each in cluster.brokers
        ],
        "groups": sorted(server.groups.offsets),
        "unserved": list(map(_unserved_as_json, unserved)),
        "unidentified": [{"copy": name, "error": told(error)} for name, error in cluster.unidentified],
        "unchecked_bytes": unchecked_bytes,
        "without_leader": [str(each) for each in cluster.without_leader],
    }


def _unserved_as_json(unserved: "Unserved") -> dict[str, Any]:
    error = unserved.error
    return {
        "partition": str(unserved.partition),
        "copy": unserved.broker,
        "partly_served": unserved.is_partly_served,
        "error": told(error),
        "file": getattr(error, "file", None),
        "position": getattr(error, "position", None),
        "offset": getattr(error, "offset", None),
    }


def _lines(cluster: "FrozenCluster", server: "ClusterServer", unchecked_bytes: int) -> Iterator[str]:
    whose = "" if cluster.cluster_id is None else f" of cluster {cluster.cluster_id}"
    yield from wrapped(f"{counted(len(cluster.brokers), 'broker')}{whose}, to be read only:")
    for each in cluster.brokers:
        hosted = cluster.hosted[each.node_id]
        led = sum(copy.is_leader for copy in hosted.values())
        where = server.addresses[each.node_id]
        yield f"  {where}  broker {each.node_id} ({shown(each.name)}): {counted(len(hosted), 'partition')}, leads {led}"
    yield from wrapped("Consumer groups are kept in memory only: committed offsets are lost when it stops.")
    if server.groups.offsets:
        yield from wrapped(f"{counted(len(server.groups.offsets), 'group')} begin where they had committed.")
    if unchecked_bytes:
        yield from wrapped(
            f"Not read yet: {counted(unchecked_bytes, 'byte')} of log. Damage in them is named once a client reads up "
            "to it; --check reads them first."
        )


def _complain_of_all(cluster: "FrozenCluster", unserved: Sequence["Unserved"]) -> None:
    for each in unserved:
        _complain(each)
    for name, error in cluster.unidentified:
        complain(f"{name}: whose it is cannot be read, so that it counts as another broker: {told(error)}")
    if not any(each.copies for each in cluster.brokers):
        complain("no copy of a partition that clients read is here: name brokers' log.dirs")
    if cluster.without_leader:
        names = ", ".join(map(str, cluster.without_leader))
        complain(f"{names} have no leader: their brokers' copies are not here")


def _complain(unserved: "Unserved") -> None:
    how = "served up to this" if unserved.is_partly_served else "not served"
    complain(f"{unserved.partition} of {unserved.broker}: {how}: {told(unserved.error)}")


def _complain_in_json(unserved: "Unserved") -> None:
    complain_in_json(_unserved_as_json(unserved))
