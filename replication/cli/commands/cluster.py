"""`epochlog cluster`."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from replication.base.counted import counted
from replication.cli.output.failure import MissingPackageError
from replication.cli.output.printing import EXIT_FAILED, EXIT_FINDINGS, JsonOption, complain, print_json, print_table
from replication.cli.settings.connection import Bootstrap, CommandConfig, client_settings
from replication.cli.settings.topics_option import TopicsOption, chosen_topics

if TYPE_CHECKING:
    from replication.cluster.operations.cluster_view import BrokerView, ClusterView
    from replication.cluster.operations.partition_filter import PartitionFilter
    from replication.cluster.operations.partition_view import Condition, PartitionView
    from replication.cluster.operations.quorum_view import QuorumView


def cluster(
    *,
    bootstrap: Bootstrap,
    topics: TopicsOption = None,
    topic: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
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
    replica; with --topics, if a partition of these topics is; with conditions, if any partition meets one. 2 if a
    request was refused or not answered.

    Examples:
      epochlog cluster --bootstrap broker1:9092
      epochlog cluster --bootstrap broker1:9092 --under-replicated --under-min-isr
      epochlog cluster --bootstrap broker1:9092 --topics 'orders*' --json
    """
    try:
        from replication.cluster.operations.cluster_reader import read_cluster
        from replication.cluster.operations.partition_view import Condition
        from replication.wire.client.cluster_client import ClusterClient
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
    if topic:
        complain(
            "--topic is called --topics now, and takes a shell's patterns; the old name will be removed in the next "
            "version"
        )
    chosen = _filter(
        chosen_topics(topics), topic or [], (each for each, is_wanted in wanted.items() if is_wanted), exclude_internal
    )
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
        if not json:
            # Not among the rows, which programs read.
            complain(f"exit status {EXIT_FINDINGS}: {'; '.join(_why(view, chosen))}")
        raise typer.Exit(EXIT_FINDINGS)


def _filter(
    names: list[str], expressions: list[str], conditions: "Iterable[Condition]", without_internal: bool
) -> "PartitionFilter":
    from replication.cluster.operations.partition_filter import PartitionFilter

    try:
        return PartitionFilter.naming(
            names, frozenset(conditions), expressions=expressions, without_internal=without_internal
        )
    except re.error as error:
        raise typer.BadParameter(f"{error.pattern!r} is not a pattern: {error}", param_hint="--topic") from error


def _has_findings(view: "ClusterView", chosen: "PartitionFilter") -> bool:
    if chosen.conditions:
        return bool(view.partitions)
    return view.has_troubled_partitions if chosen.topics else view.has_troubles


def _why(view: "ClusterView", chosen: "PartitionFilter") -> Iterator[str]:
    """Yield the reasons for the exit status."""
    from replication.cluster.operations.partition_view import TROUBLES, Condition

    if chosen.conditions:
        yield f"{counted(len(view.partitions), 'partition')} of those that were asked for"
        return
    if not chosen.topics:
        if fenced := [str(broker.id) for broker in view.brokers if broker.is_fenced]:
            yield f"fenced: {', '.join(fenced)}"
        if view.quorum is not None and view.quorum.leader is None:
            yield "no controller leads"
    counts = view.conditions
    yield from (
        f"{counted(counts[each], 'partition')} {each}" for each in Condition if each in TROUBLES and counts[each]
    )


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
    from replication.cluster.operations.partition_view import Condition

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
