"""`epochlog broker`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from replication.base.stop_request import StopRequestedError
from replication.cli.output.failure import CommandError, MissingPackageError
from replication.cli.output.printing import EXIT_FINDINGS, JsonOption, complain, print_json, print_json_line, shown
from replication.cli.output.prose import wrapped
from replication.cli.serving.accepted_losses import AcceptedLossOption, accepted_losses
from replication.cli.serving.serve_broker import complain_of_strays, told_partitions
from replication.cli.serving.until_told import until_told

if TYPE_CHECKING:
    from logstore import TopicPartition
    from replication.cli.settings.joining_properties import JoiningProperties
    from replication.cluster.node.broker_node import BrokerNode
    from replication.cluster.node.broker_node_settings import BrokerNodeSettings
    from replication.cluster.node.joining.formatted_roots import FormattedRoots
    from replication.wire.addresses import Address

_PAUSE_SECONDS: Final = 0.5


def broker(
    *,
    config: Annotated[Path, typer.Option(metavar="FILE", help="The broker's server.properties, under Kafka's names.")],
    validate: Annotated[
        bool,
        typer.Option(
            "--validate",
            help=(
                "Report everything that is wrong with the file and the directories; start nothing, and connect to "
                "nothing."
            ),
        ),
    ] = False,
    accept_loss: AcceptedLossOption = None,
    json: JsonOption = False,
) -> None:
    """Run a broker of a KRaft cluster whose controllers run elsewhere, Kafka's or epochlog's.

    It joins the cluster that its log.dirs are formatted for, by `epochlog format` or by Kafka's own tool, leads and
    follows the partitions that the controller assigns to it, and shuts down in a controlled way on SIGTERM. If the
    controller does not answer, or leads another cluster, it ends with exit status 2 before anything is changed. While
    it might be elected although its files have lost records, it stays fenced, and standard error says what to do.

    It coordinates neither groups nor transactions: before it is unfenced it creates their topics on other brokers, if
    they are missing, and it does not start if no other broker can host them.

    Examples:
      epochlog broker --config server.properties --validate
      epochlog broker --config server.properties
      epochlog broker --config server.properties --accept-loss orders-0
    """
    try:
        from replication.cli.settings.joining_properties import JoiningProperties
        from replication.wire.server.server import Server  # noqa: F401  all that follows needs what it needs
    except ModuleNotFoundError as error:
        raise MissingPackageError("a broker needs", error, "wire") from error
    if validate:
        _validate(config, json=json)
        return
    accepted = accepted_losses(accept_loss)
    properties = JoiningProperties.read(config)
    _tell_passed_over(properties.passed_over)
    try:
        _run(properties, accepted, json=json)
    except StopRequestedError:
        complain("told to stop before it had joined its cluster")


def _run(properties: "JoiningProperties", accepted: "frozenset[TopicPartition]", *, json: bool) -> None:
    from logstore.warming.warm import warm
    from replication.cli.serving.event_lines import events_printed
    from replication.cli.settings.metrics_address import served_metrics
    from replication.cluster.node.joining.joined_broker import JoinedBroker

    # Before it listens, so that no request waits for a compiler.
    warm()
    with (
        until_told() as stop,
        served_metrics(properties.broker.metrics) as metrics,
        events_printed(json=json),
        JoinedBroker.open(
            properties.roots,
            properties.controllers,
            replace(_settings(properties), accepted_losses=accepted),
            node_id=properties.node_id,
            metadata_root=properties.metadata_root,
            client_settings=properties.to_controllers,
            directory_settings=properties.broker.directories,
            cordoned=properties.cordoned,
            snapshots=properties.snapshots,
            observer=None if metrics is None else metrics.flushes,
            stop=stop,
        ) as joined,
    ):
        if metrics is not None:
            metrics.watch(joined.node)
        if json:
            print_json_line(_as_json(joined.node, properties, None if metrics is None else metrics.address))
        else:
            for line in _lines(joined.node, None if metrics is None else metrics.address):
                print(line, flush=True)
        while not stop.wait(_PAUSE_SECONDS):
            if joined.node.failure is not None:
                raise CommandError(
                    f"the broker cannot continue: {joined.node.failure}; remove the cause, and start it again"
                ) from joined.node.failure


def _validate(config: Path, *, json: bool) -> None:
    """Print what would keep a broker from starting; exit status 1 where something would."""
    from replication.cli.settings.joining_properties import JoiningProperties
    from replication.wire.errors import InvalidSettingsError

    faults: list[str] = []
    passed_over: tuple[str, ...] = ()
    try:
        properties = JoiningProperties.read(config)
        passed_over = properties.passed_over
        faults += _unusable_files(properties)
    except (InvalidSettingsError, OSError) as error:
        faults.append(str(error))
    formatted = _formatted_roots(config)
    faults += () if formatted is None else formatted.faults
    offline = {} if formatted is None else formatted.offline
    if json:
        print_json({"faults": faults, "passed_over": list(passed_over)})
    else:
        for fault in faults:
            complain(fault)
        _tell_offline(offline)
        _tell_passed_over(passed_over)
        if not faults:
            print("A broker can start with this: properties and directories are in order. No controller was asked.")
    if faults:
        raise typer.Exit(EXIT_FINDINGS)


def _formatted_roots(config: Path) -> "FormattedRoots | None":
    """Look at the directories that a file names, also where something else is wrong with it; None: it names none."""
    from replication.cli.settings.joining_properties import named_directories
    from replication.cluster.node.joining.formatted_roots import FormattedRoots
    from replication.wire.errors import InvalidSettingsError

    try:
        node_id, roots, metadata_root = named_directories(config)
    except (InvalidSettingsError, OSError):
        return None
    return FormattedRoots(roots, node_id, metadata_root or roots[0]) if roots else None


def _unusable_files(properties: "JoiningProperties") -> Iterator[str]:
    """Find listeners, its own and others', whose certificates or keys cannot be used."""
    from replication.wire.errors import InvalidSettingsError

    looks: dict[str, Callable[[], object]] = {f"listener {each.name}": each.streams for each in properties.listeners}
    peers = {"the controllers": properties.to_controllers.tls, "the other brokers": properties.to_brokers.tls}
    looks |= {f"connections to {whom}": tls.context for whom, tls in peers.items() if tls is not None}
    for whose, look in looks.items():
        try:
            look()
        except InvalidSettingsError as error:
            yield f"{whose}: {error}"


def _tell_passed_over(names: Sequence[str]) -> None:
    from replication.cli.settings.joining_properties import misspelt

    if names:
        meant = misspelt(names)
        told = (f"{name} (is {meant[name]} meant?)" if name in meant else name for name in names)
        complain(f"makes no difference here: {', '.join(told)}")


def _tell_offline(roots: Mapping[Path, OSError]) -> None:
    for path, error in roots.items():
        complain(f"{shown(str(path))}: offline, with all that lies there: {shown(str(error))}")


def _settings(properties: "JoiningProperties") -> "BrokerNodeSettings":
    from replication.cluster.node.broker_node_settings import BrokerNodeSettings

    of_broker = properties.broker
    for_brokers, *more = properties.listeners
    return BrokerNodeSettings(
        listener=for_brokers,
        more_listeners=tuple(more),
        limits=of_broker.serving.limits,
        rack=properties.rack,
        topic_defaults=of_broker.topic_defaults,
        replica_lag_time_max_ms=of_broker.replica_lag_time_max_ms,
        heartbeat_interval_ms=of_broker.heartbeat_interval_ms,
        fetch_verify_interval_ms=of_broker.fetch_verify_interval_ms,
        auto_create_topics=of_broker.auto_create_topics,
        compacts=of_broker.compacts,
        registration_seconds=properties.registration_seconds,
        peers=properties.to_brokers,
        fetchers=properties.fetchers,
        authorizer=of_broker.authorizer,
        coordinates_groups=False,
        starts_without_coordinators=properties.starts_without_coordinators,
        session_timeout_ms=of_broker.controller.broker_session_timeout_ms,
    )


def _as_json(node: "BrokerNode", properties: "JoiningProperties", metrics: str | None) -> dict[str, Any]:
    hosted = node.replicas.hosted
    return {
        "cluster_id": node.identity.cluster_id,
        "node_id": node.identity.broker_id,
        "broker_epoch": node.broker_epoch,
        "fenced": node.lifecycle.is_fenced,
        "bootstrap": str(node.address),
        "listeners": {name: str(address) for name, address in node.addresses.items()},
        "partitions": len(hosted),
        "leads": sum(each.is_leader for each in hosted.values()),
        "offline": sorted(map(str, hosted.offline)),
        "strays": list(map(str, node.strays)),
        "passed_over": list(properties.passed_over),
        "metrics": metrics,
    }


def _lines(node: "BrokerNode", metrics: str | None) -> Iterator[str]:
    yield from wrapped(
        f"Broker {node.identity.broker_id} has joined cluster {node.identity.cluster_id} and listens on "
        f"{_told(node.addresses)}: {told_partitions(node.replicas.hosted)}."
    )
    if node.replicas.are_withheld:
        complain("it stays fenced, and leads nothing, until others lead what replicas here lack: see above")
    _tell_offline(node.directories.offline)
    if metrics is not None:
        yield f"Metrics are at http://{metrics}/metrics."
    complain_of_strays(node.strays)


def _told(addresses: "Mapping[str, Address]") -> str:
    """Name where it listens, and the listeners where there are several."""
    if len(addresses) == 1:
        return str(*addresses.values())
    return ", ".join(f"{address} ({name})" for name, address in addresses.items())
