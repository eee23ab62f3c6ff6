"""`epochlog serve` without `--read-only`: a broker of our own."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from replication.base.counted import counted
from replication.cli.output.failure import CommandError
from replication.cli.output.printing import EXIT_FINDINGS, complain, print_json, print_json_line, shown
from replication.cli.output.prose import wrapped
from replication.cli.serving.until_told import until_told

if TYPE_CHECKING:
    from logstore import TopicPartition
    from replication.cli.settings.broker_properties import BrokerProperties
    from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
    from replication.cluster.node.broker_node_settings import BrokerNodeSettings
    from replication.cluster.standalone.standalone_broker import StandaloneBroker
    from replication.wire.addresses import Address

_PAUSE_SECONDS: Final = 0.5


def told_partitions(hosted: "HostedPartitions") -> str:
    """Return how many there are, how many it leads, and how many cannot be used where some cannot."""
    led = sum(each.is_leader for each in hosted.values())
    offline = f", {len(hosted.offline)} offline" if hosted.offline else ""
    return f"{counted(len(hosted), 'partition')}, leads {led}{offline}"


def complain_of_strays(strays: Iterable[Path]) -> None:
    """Name the directories that are not the broker's by the metadata."""
    for path in strays:
        complain(
            f"{shown(str(path))}: set aside, as it is not this broker's by the metadata: remove it if it is not needed"
        )


def broker_properties(file: Path | None, address: "Address") -> "BrokerProperties":
    """Read a file of properties, or take Kafka's defaults. Raises what `BrokerProperties.read` raises."""
    from replication.cli.settings.broker_properties import BrokerProperties

    return BrokerProperties.of({}, address) if file is None else BrokerProperties.read(file, address)


def serve_broker(
    roots: Sequence[Path],
    properties: "BrokerProperties",
    advertised_host: str | None,
    accepted_losses: "frozenset[TopicPartition]",
    *,
    create: bool,
    json: bool,
) -> None:
    """Lead the partitions of log.dirs until told to stop.

    Raises CommandError where it cannot go on, and NewRootError for a new directory unless a broker is to be made.
    """
    from logstore.warming.warm import warm
    from replication.cli.settings.metrics_address import served_metrics
    from replication.cluster.standalone.formatting import ensure_none_new
    from replication.cluster.standalone.standalone_broker import StandaloneBroker

    if not create:
        ensure_none_new(roots)
    # Before it listens, so that no request waits for a compiler.
    warm()
    with (
        until_told() as stop,
        served_metrics(properties.metrics) as metrics,
        StandaloneBroker.open(
            roots,
            replace(_settings(properties, advertised_host), accepted_losses=accepted_losses),
            properties.controller,
            node_id=properties.node_id,
            directory_settings=properties.directories,
            observer=None if metrics is None else metrics.flushes,
        ) as broker,
    ):
        if metrics is not None:
            metrics.watch(broker.local)
        if json:
            print_json_line(_as_json(broker, None if metrics is None else metrics.address))
        else:
            for line in _lines(broker, None if metrics is None else metrics.address):
                print(line, flush=True)
        while not stop.wait(_PAUSE_SECONDS):
            if broker.failure is not None:
                raise CommandError(
                    f"the broker cannot continue: {broker.failure}; remove the cause, and start it again"
                ) from broker.failure


def validate_broker(roots: Sequence[Path], file: Path | None, address: "Address", *, create: bool, json: bool) -> None:
    """Print what would keep a broker from starting; exit status 1 where something would."""
    from replication.cluster.standalone.validation import directory_faults
    from replication.wire.errors import InvalidSettingsError

    faults, node_id = [], None
    try:
        node_id = broker_properties(file, address).node_id
    except (InvalidSettingsError, OSError) as error:
        faults.append(str(error))
    faults += directory_faults(roots, node_id, create=create)
    if json:
        print_json({"faults": faults})
    else:
        for fault in faults:
            complain(fault)
        if not faults:
            print("A broker can start with this: properties and directories are in order.")
    if faults:
        raise typer.Exit(EXIT_FINDINGS)


def _settings(properties: "BrokerProperties", advertised_host: str | None) -> "BrokerNodeSettings":
    from replication.cluster.node.broker_node_settings import BrokerNodeSettings
    from replication.wire.addresses import Address

    return BrokerNodeSettings(
        listener=replace(properties.serving.listener, advertised=Address(advertised_host or "", 0)),
        limits=properties.serving.limits,
        topic_defaults=properties.topic_defaults,
        replica_lag_time_max_ms=properties.replica_lag_time_max_ms,
        heartbeat_interval_ms=properties.heartbeat_interval_ms,
        fetch_verify_interval_ms=properties.fetch_verify_interval_ms,
        auto_create_topics=properties.auto_create_topics,
        compacts=properties.compacts,
        groups=properties.groups,
        authorizer=properties.authorizer,
    )


def _as_json(broker: "StandaloneBroker", metrics: str | None) -> dict[str, Any]:
    local = broker.local
    return {
        "cluster_id": local.identity.cluster_id,
        "node_id": local.identity.broker_id,
        "bootstrap": str(local.address),
        "partitions": len(local.replicas.hosted),
        "leads": sum(hosted.is_leader for hosted in local.replicas.hosted.values()),
        "offline": sorted(map(str, local.replicas.hosted.offline)),
        "strays": list(map(str, broker.strays)),
        "formatted": [str(root) for root in broker.new_roots],
        "metrics": metrics,
    }


def _lines(broker: "StandaloneBroker", metrics: str | None) -> Iterator[str]:
    local = broker.local
    for root in broker.new_roots:
        yield f"{shown(str(root))} is new: formatted for broker {local.identity.broker_id}"
    yield from wrapped(
        f"Broker {local.identity.broker_id} of cluster {local.identity.cluster_id} listens on {local.address}: "
        f"{told_partitions(local.replicas.hosted)}."
    )
    if metrics is not None:
        yield f"Metrics are at http://{metrics}/metrics."
    yield from wrapped("Consumer groups are kept in memory only: committed offsets are lost when it stops.")
    complain_of_strays(broker.strays)
