"""`epochlog cluster`."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from replication.cli.connection import Bootstrap, CommandConfig, client_settings
from replication.cli.failure import MissingPackageError
from replication.cli.output import EXIT_FAILED, EXIT_FINDINGS, JsonOption, complain, print_json, print_table

if TYPE_CHECKING:
    from replication.operations.cluster_view import BrokerView, ClusterView
    from replication.operations.partition_filter import PartitionFilter
    from replication.operations.partition_view import Condition, PartitionView
    from replication.operations.quorum_view import QuorumView


def cluster(
    *,
    bootstrap: Bootstrap,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC", help="Only this topic, or those that match a pattern; may be given several times."
        ),
    ] = None,
    unavailable: Annotated[
        bool, typer.Option("--unavailable", "--unavailable-partitions", help="Only partitions without a leader.")
    ] = False,
    under_min_isr: Annotated[
        bool,
        typer.Option(
            "--under-min-isr",
            "--under-min-isr-partitions",
            help="Only partitions with fewer replicas in sync than min.insync.replicas.",
        ),
    ] = False,
    at_min_isr: Annotated[
        bool,
        typer.Option(
            "--at-min-isr", "--at-min-isr-partitions", help="Only partitions with exactly min.insync.replicas in sync."
        ),
    ] = False,
    under_replicated: Annotated[
        bool,
        typer.Option(
            "--under-replicated",
            "--under-replicated-partitions",
            help="Only partitions with fewer replicas in sync than assigned.",
        ),
    ] = False,
    off_preferred: Annotated[
        bool, typer.Option("--off-preferred", help="Only partitions whose leader is not the preferred replica.")
    ] = False,
    reassigning: Annotated[
        bool, typer.Option("--reassigning", help="Only partitions that are being reassigned.")
    ] = False,
    exclude_internal: Annotated[
        bool, typer.Option("--exclude-internal", help="Without internal topics, such as __consumer_offsets.")
    ] = False,
    command_config: CommandConfig = None,
    json: JsonOption = False,
) -> None:
    """Show the state of a running cluster: brokers, controllers, partition leaders, in-sync and eligible replicas.

    With several conditions, partitions that meet any of them are shown. Exit status 1 if a broker is fenced, no
    controller leads, or a partition is unavailable, under min ISR, under-replicated or not led by its preferred
    replica; with --topic, if a partition of these topics is; with conditions, if any partition meets one. 2 if a
    request was refused or not answered.

    Example: epochlog cluster --bootstrap broker1:9092 --under-replicated
    """
    try:
        from replication.operations.cluster_reader import read_cluster
        from replication.operations.partition_view import Condition
        from replication.protocol.client.cluster_client import ClusterClient
    except ModuleNotFoundError as error:
        raise MissingPackageError("connecting to a cluster needs", error, "wire") from error
    wanted = {
        Condition.UNAVAILABLE: unavailable,
        Condition.UNDER_MIN_ISR: under_min_isr,
        Condition.AT_MIN_ISR: at_min_isr,
        Condition.UNDER_REPLICATED: under_replicated,
        Condition.OFF_PREFERRED: off_preferred,
        Condition.REASSIGNING: reassigning,
    }
    chosen = _filter(topic or [], (each for each, is_wanted in wanted.items() if is_wanted), exclude_internal)
    with ClusterClient(bootstrap, client_settings(command_config)) as client:
        view = read_cluster(client, chosen)
    if json:
        print_json(view.as_json())
    else:
        _print(view, chosen)
    for gap in view.gaps:
        complain(str(gap))
    if any(gap.is_failure for gap in view.gaps):
        raise typer.Exit(EXIT_FAILED)
    if _has_findings(view, chosen):
        raise typer.Exit(EXIT_FINDINGS)


def _filter(topics: list[str], conditions: "Iterable[Condition]", without_internal: bool) -> "PartitionFilter":
    from replication.operations.partition_filter import PartitionFilter

    try:
        return PartitionFilter.naming(tuple(topics), frozenset(conditions), without_internal=without_internal)
    except re.error as error:
        raise typer.BadParameter(f"{error.pattern!r} is not a pattern: {error}", param_hint="--topic") from error


def _has_findings(view: "ClusterView", chosen: "PartitionFilter") -> bool:
    if chosen.conditions:
        return bool(view.partitions)
    return view.has_troubled_partitions if chosen.topics else view.has_troubles


def _print(view: "ClusterView", chosen: "PartitionFilter") -> None:
    """Print all of a view, or where partitions were chosen those alone."""
    if not (chosen.topics or chosen.conditions):
        _print_brokers(view)
        print()
        if view.quorum is not None:
            _print_quorum(view.quorum)
            print()
    _print_partitions(view)


def _print_brokers(view: "ClusterView") -> None:
    print_table(
        f"Brokers of cluster {view.cluster_id}",
        ("broker", "address", "rack", "state", "leads", "replicas"),
        [
            (broker.id, broker.address, broker.rack, _state(broker, view), broker.leaders, broker.replicas)
            for broker in view.brokers
        ],
    )


def _state(broker: "BrokerView", view: "ClusterView") -> str:
    states = {"controller": broker.id == view.controller_id, "fenced": broker.is_fenced}
    return ", ".join(state for state, is_so in states.items() if is_so) or "active"


def _print_quorum(quorum: "QuorumView") -> None:
    led = "with no leader"
    if quorum.leader is not None:
        led = f"led by {quorum.leader.id} in epoch {quorum.leader_epoch}, high watermark {quorum.high_watermark:,}"
    print_table(
        f"Controllers, {led}",
        ("node", "role", "log end", "lag"),
        [(each.id, quorum.role(each), each.log_end_offset, quorum.lag(each)) for each in quorum.replicas],
    )


def _print_partitions(view: "ClusterView") -> None:
    from replication.operations.partition_view import Condition

    count, conditions = len(view.partitions), view.conditions
    counts = [f"{conditions[each]:,} {each}" for each in Condition if conditions[each]]
    print_table(
        ", ".join([f"{count:,} partition{'s' * (count != 1)}", *counts]),
        ("partition", "leader", "epoch", "replicas", "isr", "elr", "last elr", "min isr", "conditions"),
        [_row(partition) for partition in view.partitions],
    )


def _row(told: "PartitionView") -> tuple[object, ...]:
    return (
        told.partition,
        told.leader if told.has_leader else None,
        told.leader_epoch,
        _ids(told.replicas),
        _ids(told.isr),
        _ids(told.elr or ()),
        _ids(told.last_known_elr or ()),
        told.min_isr,
        ", ".join(told.conditions),
    )


def _ids(replicas: Iterable[int]) -> str:
    return ",".join(map(str, replicas))
