"""`epochlog elect`: kafka-leader-election, and what goes beyond it."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from typer.core import TyperCommand

from replication.cli.output.failure import MissingPackageError, print_failure, wants_json
from replication.cli.output.printing import JsonOption, let_go_of, print_json, shown, told
from replication.cli.settings.connection import Bootstrap, CommandConfig

if TYPE_CHECKING:
    from logstore import TopicPartition
    from replication.cli.settings.client_properties import ClientProperties
    from replication.cluster.operations.tool_error import ToolError

KAFKA_VERSION: Final = "4.3.1"
"""Whose tool this command does the work of."""
DEPRECATED: Final = (
    "Option --admin.config has been deprecated and will be removed in a future version. Use --command-config instead."
)
CLIENT_DEFAULTS: Final = {"default.api.timeout.ms": "30000", "request.timeout.ms": "15000"}
"""What the tool sets where the properties say nothing, in milliseconds."""
SHORT_HELP: Final = "-h"


class ElectCommand(TyperCommand):
    """Reads options as Kafka's tool does, with its messages; the declared ones are for the help and for completion."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # click's Context is typer's base
        """Parse the arguments."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        if not args:
            _say(ctx.get_help())
            raise typer.Exit(1)
        with _ending_as_the_tool(json=wants_json(args)):
            read = _read_options(args)
        if read is None:
            return super().parse_args(ctx, [SHORT_HELP])
        ctx.params = read
        return []


def elect(
    *,
    bootstrap: Bootstrap,
    election_type: Annotated[
        str,
        typer.Option(
            metavar="preferred|unclean",
            help="preferred: elect the preferred replica if it is in sync. unclean: if there is no leader, elect any "
            "replica that is alive, even if records may be lost.",
        ),
    ],
    topic: Annotated[str | None, typer.Option(metavar="TOPIC", help="Elect for one partition of this topic.")] = None,
    partition: Annotated[int | None, typer.Option(metavar="N", help="The partition of the topic.")] = None,
    path_to_json_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='Elect for the partitions in a file: {"partitions": [{"topic": "a", "partition": 1}]}.'
        ),
    ] = None,
    all_topic_partitions: Annotated[
        bool, typer.Option("--all-topic-partitions", help="Elect for all partitions that need it.")
    ] = False,
    command_config: CommandConfig = None,
    admin_config: Annotated[
        Path | None, typer.Option("--admin.config", metavar="FILE", help="The old name of --command-config.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Hold no election; report which brokers would lead, by Kafka's own rules."),
    ] = False,
    log_dir: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ID=]DIR",
            help="With --dry-run: a broker's log.dirs root; give those of two or more brokers to report what an "
            "unclean election would lose.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Elect leaders on a running cluster, with the options, messages and exit status of kafka-leader-election.

    Exit status 0 if each partition was elected or needed no election, 1 otherwise, as with Kafka's tool. With
    --dry-run: 1 if an election would fail, or might lose records.

    Examples:
      epochlog elect --bootstrap broker1:9092 --election-type preferred --all-topic-partitions
      epochlog elect --bootstrap broker1:9092 --election-type unclean --topic orders --partition 0 --dry-run
    """
    with _ending_as_the_tool(json=json):
        partitions = _chosen(topic, partition, path_to_json_file)
        if admin_config and not json:
            print(DEPRECATED)
        client = _client(command_config or admin_config)
        if dry_run:
            from replication.cli.judging.election_dry_run import foresee

            fails = foresee(bootstrap, client, election_type, partitions, log_dir or [], json=json)
        else:
            fails = _hold(bootstrap, client, election_type, partitions, json=json)
    del all_topic_partitions  # what is chosen where nothing else is
    if fails:
        raise typer.Exit(1)


def _read_options(arguments: Sequence[str]) -> dict[str, object] | None:
    """Return the options by parameter, or None if help is requested; exit if the version is."""
    from replication.cluster.operations.election_options import FLAGS, HELP, VALUED, VERSION, ElectionOptions
    from replication.cluster.operations.tool_options import ToolOptions

    if SHORT_HELP in arguments:
        return None
    options = ToolOptions.read(arguments, VALUED, FLAGS)
    if HELP in options:
        return None
    if VERSION in options:
        print(KAFKA_VERSION)
        raise typer.Exit
    read = ElectionOptions.of(options)
    given = {field.name: getattr(read, field.name) for field in fields(read)}
    return given | {"election_type": read.election_type.name}


@contextmanager
def _ending_as_the_tool(*, json: bool = False) -> "Iterator[None]":
    """End the command as Kafka's tool does, with its message and status, where that would."""
    from epoch import EpochError
    from logstore.errors import LogStoreError
    from replication.base.errors import ReplicationError
    from replication.cluster.operations.tool_error import EXIT_FAILED, ToolError

    try:
        yield
    except (EpochError, LogStoreError, ReplicationError, OSError) as error:
        if json:
            print_failure(error, EXIT_FAILED)
        _tell(error if isinstance(error, ToolError) else ToolError(told(error)), json=json)
        raise typer.Exit(EXIT_FAILED) from error


def _tell(error: "ToolError", *, json: bool) -> None:
    if error.on_output_too and not json:
        print(shown(error.message))
    for line in error.lines:
        _say(shown(line))


def _say(text: str) -> None:
    """Print a line on standard error as the tool does: without a name before it."""
    sys.stdout.flush()
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # nobody can be told that nobody can be told
        let_go_of(sys.stderr)


def _chosen(
    topic: str | None, partition: int | None, path_to_json_file: Path | None
) -> "tuple[TopicPartition, ...] | None":
    """Return the partitions that are asked for; None: all."""
    from logstore import TopicPartition
    from replication.cluster.operations.election_data import read_election_data

    if path_to_json_file is not None:
        return read_election_data(path_to_json_file)
    if topic is not None and partition is not None:
        return (TopicPartition(topic, partition),)
    return None


def _client(configuration: Path | None) -> "ClientProperties":
    from replication.cluster.operations.tool_error import ToolError

    try:
        from replication.cli.settings.client_properties import ClientProperties
        from replication.cluster.operations.leader_election import CANNOT_BEGIN
    except ModuleNotFoundError as error:
        raise MissingPackageError("elections need", error, "wire") from error
    if configuration is None:
        return ClientProperties.of(CLIENT_DEFAULTS)
    try:
        client = ClientProperties.read(configuration, CLIENT_DEFAULTS)
    except OSError as error:
        raise ToolError(str(configuration), told(error)) from error
    if client.api_timeout_ms < client.settings.request_timeout_ms:
        raise ToolError(
            CANNOT_BEGIN,
            f"{configuration}: default.api.timeout.ms, {client.api_timeout_ms}, must be no smaller than "
            f"request.timeout.ms, {client.settings.request_timeout_ms}; set both",
        )
    return client


def _hold(
    bootstrap: str,
    client: "ClientProperties",
    election_type: str,
    partitions: "tuple[TopicPartition, ...] | None",
    *,
    json: bool,
) -> bool:
    """Hold the elections, report them, and return whether any failed."""
    from replication.cluster.operations.election_report import ElectionReport
    from replication.cluster.operations.leader_election import bootstrap_addresses, hold_elections
    from replication.wire.messages.elect_leaders import ElectionType, ElectLeadersRequest

    kind = ElectionType[election_type]
    request = ElectLeadersRequest(election_type=kind, partitions=partitions, timeout_ms=client.api_timeout_ms)
    response = hold_elections(bootstrap_addresses(bootstrap), client.settings, request)
    report = ElectionReport(kind, response.results)
    if json:
        print_json({"dry_run": False, **report.as_json()})
    else:
        for line in report.lines:
            print(shown(line))
    if report.complaint:
        _say(report.complaint)
    return bool(report.failed)
