"""`epochlog mirror`."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from replication.base.chosen_topics import is_pattern
from replication.base.stop_request import StopRequest, StopRequestedError
from replication.cli.output.failure import CommandError, MissingPackageError
from replication.cli.output.printing import EXIT_FINDINGS, complain
from replication.cli.serving.log_format import LogFormat
from replication.cli.serving.until_told import until_told
from replication.cli.settings.connection import Bootstrap, CommandConfig, client_settings
from replication.cli.settings.metrics_address import MetricsAddress
from replication.cli.settings.topics_option import chosen_topics

if TYPE_CHECKING:
    from replication.cli.serving.mirror_display import Display
    from replication.cluster.mirror.mirror import Mirror

PAUSE_SECONDS: Final = 0.5
"""How often to check whether to stop, and to refresh what is shown."""
UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text, re.ASCII | re.IGNORECASE)
    if match is None or not int(match[1]):
        raise typer.BadParameter(f"{text!r} is not a number of bytes, such as 50M")
    return int(match[1]) * UNITS[match[2].upper()]


def _metrics_address(text: str) -> MetricsAddress:
    try:
        return MetricsAddress.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def mirror(
    *,
    bootstrap: Bootstrap,
    topics: Annotated[
        list[str],
        typer.Option(
            "--topics", metavar="NAMES", help="The topics: names, or patterns such as 'orders*', separated by commas."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", metavar="DIR", help="The directory of the copy: a log.dirs root, created if it is missing."
        ),
    ],
    partition: Annotated[
        list[int] | None,
        typer.Option(metavar="N", min=0, help="Only this partition of the topic; may be given several times."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Stop when everything that was committed at the start is copied.")
    ] = False,
    keep_truncated: Annotated[
        Path | None, typer.Option(metavar="DIR2", help="Keep truncated records in files below this directory.")
    ] = None,
    metrics: Annotated[
        MetricsAddress | None,
        typer.Option(
            "--metrics-listener",
            metavar="[HOST:]PORT",
            parser=_metrics_address,
            help="Serve Prometheus metrics; port 0 means any free port.",
        ),
    ] = None,
    command_config: CommandConfig = None,
    threads: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Fetchers for each broker.")] = 1,
    throttle: Annotated[
        int | None,
        typer.Option(metavar="BYTES", parser=_bytes, help="Copy at most this many bytes a second, such as 50M."),
    ] = None,
    node_id: Annotated[
        int, typer.Option(metavar="ID", min=0, max=2**31 - 1, help="The node.id of the copy; no broker may have it.")
    ] = 2**31 - 1,
    log_format: Annotated[
        LogFormat | None,
        typer.Option(help="Print a log, also on a terminal: lines of text after their time, or JSON."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --log-format json.")] = False,
) -> None:
    """Keep a byte-identical copy of a topic's partitions, which follows leader changes and truncates as a replica does.

    It runs until it is interrupted, and resumes when it is started again. Every truncation is reported:
    how many records were removed, why, and where they are kept. Exit status 1 if a partition failed.

    Examples:
      epochlog mirror --bootstrap broker1:9092 --topics orders --output copy --once
      epochlog mirror --bootstrap broker1:9092 --topics orders --output copy --keep-truncated cut
    """
    try:
        from replication.cli.serving.mirror_display import display_for
        from replication.cluster.mirror.mirror import Mirror
        from replication.cluster.mirror.mirror_settings import MirrorSettings
    except ModuleNotFoundError as error:
        raise MissingPackageError("the mirror needs", error, "wire") from error
    names = chosen_topics(topics)
    if partition and (len(names) > 1 or any(map(is_pattern, names))):
        raise typer.BadParameter("it needs exactly one name in --topics", param_hint="--partition")
    if json and log_format is LogFormat.TEXT:
        raise typer.BadParameter("with --json the log is not text", param_hint="--log-format")
    settings = MirrorSettings(
        bootstrap=bootstrap,
        topics=tuple(names),
        partitions=frozenset(partition or ()),
        log_dir=output,
        node_id=node_id,
        client=client_settings(command_config),
        keep_truncated=keep_truncated,
        threads=threads,
        throttle=throttle,
    )
    display = display_for(LogFormat.JSON if json else log_format)
    has_failed, is_done = False, False
    try:
        with suppress(StopRequestedError), until_told() as told, ExitStack() as stack:
            with told.breaking_off():
                opened = stack.enter_context(Mirror.open(settings, display.tell))
            stack.enter_context(_metrics_served(opened, metrics))
            is_done = _follow(opened, display, told, once=once)
            has_failed = bool(opened.failed)
    finally:
        display.close()
    if once and not is_done:
        raise CommandError("interrupted before everything was copied; start it again to resume")
    if has_failed:
        raise typer.Exit(EXIT_FINDINGS)


def _follow(opened: "Mirror", display: "Display", told: StopRequest, *, once: bool) -> bool:
    """Watch the mirror until it is asked to stop; return whether it had caught up before, or nothing is left."""
    is_done = False
    while not is_done and not told.wait(PAUSE_SECONDS):
        with suppress(StopRequestedError), told.breaking_off():
            opened.look_after()
        display.show(opened.statuses)
        is_done = (once and opened.has_caught_up()) or opened.has_nothing_left()
    display.show(opened.statuses, last=True)
    return is_done


@contextmanager
def _metrics_served(opened: "Mirror", address: MetricsAddress | None) -> Iterator[None]:
    if address is None:
        yield
        return
    from logstore.clock import now_ms
    from replication.base.metrics_server import MetricsServer
    from replication.cli.serving.log_time import log_time
    from replication.cluster.mirror.metrics import MirrorMetrics

    server = MetricsServer(MirrorMetrics(opened.statuses), address.host, address.port)
    complain(f"metrics at http://{server.address}/metrics", at=log_time(now_ms()))
    try:
        yield
    finally:
        server.close()
