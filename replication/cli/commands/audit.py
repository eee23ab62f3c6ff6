"""`epochlog audit`."""

import logging
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from logstore.topic_partition import METADATA_TOPIC
from replication.base.counted import counted
from replication.cli.judging.audit_engines import AuditRun, Engine, MasterOption
from replication.cli.judging.audit_files import AuditFiles, OverwriteOption
from replication.cli.judging.comparison import ReplicationFactorOption
from replication.cli.judging.disguise import ShareOption
from replication.cli.judging.network_run import NetworkRun
from replication.cli.output.printing import (
    EXIT_CLEAN,
    EXIT_CRITICAL,
    EXIT_FAILED,
    EXIT_FINDINGS,
    UNREADABLE,
    JsonOption,
    complain,
    print_json,
    print_line,
    print_table,
)
from replication.cli.settings.connection import CommandConfig
from replication.cli.settings.masking import MaskFormOption, MaskOption, MaskSaltOption, mask_of
from replication.cli.settings.topics_option import TopicsOption, chosen_topics

MOST_ROWS = 40
"""Of a table on the terminal; `--json`, `--output` and `--report` have all."""
HARMLESS = frozenset({"identical", "retention", "compaction"})
"""Verdicts that replicas come to without anything having gone wrong."""
NOWHERE = "partition-nowhere"
"""The kind of the findings about partitions that have no verdict, since there is no copy of them."""
NOT_READ = frozenset({UNREADABLE, "moved-while-read"})
"""The kinds of the findings that leave open what a file says."""


def audit(
    snapshots: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]URI...",
            help="Copies of brokers' log directories: a log.dirs root, or a directory of several; a path, or a URI "
            "such as s3://bucket/broker-1. An existing directory is taken as a path even if its name contains =.",
        ),
    ] = None,
    *,
    bootstrap: Annotated[
        str | None,
        typer.Option(
            "--bootstrap",
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="A running cluster, whose replicas are read over the network; not those of brokers whose copies are "
            "named too.",
        ),
    ] = None,
    command_config: CommandConfig = None,
    rate: Annotated[
        int | None,
        typer.Option(
            "--rate", metavar="BYTES/S", min=1, help="With --bootstrap: bytes a second that are read from each broker."
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FILE",
            help="With --bootstrap: note here what was found, and go on with it after an interruption.",
        ),
    ] = None,
    records: Annotated[bool, typer.Option("--records", help="Decode every record too.")] = False,
    topics: TopicsOption = None,
    sample: Annotated[
        float, typer.Option("--sample", metavar="SHARE", help="Only this share of the partitions, such as 0.1.")
    ] = 1.0,
    replication_factor: ReplicationFactorOption = None,
    engine: Annotated[
        Engine,
        typer.Option("--engine", help="local: processes of this machine; auto: Spark for a cluster or remote files."),
    ] = Engine.AUTO,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", min=0, help="Processes besides this one; by default one for each processor."
        ),
    ] = None,
    master: MasterOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Write all tables to this new directory, as Parquet and JSON."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="Write a page: what is lost, and what to do.")
    ] = None,
    differences: Annotated[
        Path | None,
        typer.Option(
            "--differences",
            metavar="FILE",
            help="Write each record on which copies disagree, with both sides: a .parquet file, or .jsonl.",
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option("--metrics", metavar="FILE.prom", help="Write metrics for Prometheus's node exporter."),
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            metavar="DIR",
            help="Keep results here: report what is new, and read closed segments only once.",
        ),
    ] = None,
    trends: Annotated[
        Path | None,
        typer.Option("--trends", metavar="FILE.html", help="Write a page with the findings of all runs in --history."),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Read unchanged segments too, regardless of the history."),
    ] = False,
    rotate: Annotated[
        int | None,
        typer.Option(
            "--rotate",
            metavar="N",
            min=1,
            help="With --history: read a share of what has not changed too, so that N runs read everything.",
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Brokers write to the directories: read again what changes while it is read."),
    ] = False,
    patience: Annotated[
        float | None,
        typer.Option(
            "--patience",
            metavar="SECONDS",
            min=0,
            help="With --live or --bootstrap: how long to read again after the first pass. [default: 60]",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    mask: MaskOption = None,
    mask_as: MaskFormOption = None,
    mask_salt: MaskSaltOption = None,
    share: ShareOption = False,
    json: JsonOption = False,
) -> None:
    """Compare copies of several brokers' logs: which replicas agree, lag, have forked, are damaged, and who should
    lead.

    Exit status 3 if acknowledged records are lost, or will be under the leader that Kafka elects; 2 if something could
    not be read or changed while it was read, or a result could not be written; 1 if replicas differ other than by
    retention and compaction, or if there is damage. The copies are never changed.

    With --live the brokers may be running: each verdict is of copies that did not change while they were read.
    With --bootstrap each broker is asked for its replicas as consumers ask, which takes READ on the topics, and what
    they answer is compared up to the high watermark; replicas of brokers of which copies are named too are read there.
    Spark does it with --engine spark or --master.
    With --mask keys, names of groups and transactional ids are masked too: keys of Kafka's own topics are made of them.

    Examples:
      epochlog audit broker-1 broker-2 broker-3 --report audit.html
      epochlog audit b1=s3://bucket/broker-1 b2=s3://bucket/broker-2 --history runs --rotate 7
      epochlog audit --bootstrap broker1:9092 --rate 20000000 --report audit.html
    """  # noqa: D205  typer takes the first paragraph whole
    if not 0 < sample <= 1:
        raise typer.BadParameter(f"{sample} is not a share above 0 and up to 1", param_hint="--sample")
    if full and history is None:
        raise typer.BadParameter("without --history all is read anyway", param_hint="--full")
    if rotate is not None and (history is None or full):
        why = "without --history all is read anyway" if history is None else "--full reads everything in each run"
        raise typer.BadParameter(why, param_hint="--rotate")
    if trends is not None and history is None:
        raise typer.BadParameter("it shows the runs that --history keeps; name that too", param_hint="--trends")
    if patience is not None and not live and bootstrap is None:
        raise typer.BadParameter("without --live all is read once; add that option too", param_hint="--patience")
    on_spark = engine is Engine.SPARK or (engine is Engine.AUTO and master is not None)
    if bootstrap is not None:
        _ensure_fit_for_network(
            {
                "--live": live,
                "--workers": workers is not None,
                "--differences": differences,
                "--history": history,
                "--replication-factor": replication_factor,
            }
        )
        if master is not None and engine is Engine.LOCAL:
            raise typer.BadParameter("it is Spark's, and cannot be with --engine local", param_hint="--master")
        if on_spark and snapshots:
            raise typer.BadParameter(
                "beside replicas that are read over the network, copies are read by this process; leave out what names "
                "Spark",
                param_hint="[NAME=]URI...",
            )
    elif not snapshots:
        raise typer.BadParameter("name copies, or with --bootstrap a cluster", param_hint="[NAME=]URI...")
    for option, value in {"--command-config": command_config, "--rate": rate, "--state": state}.items():
        if value is not None and bootstrap is None:
            raise typer.BadParameter("copies are read from disks; it goes with --bootstrap", param_hint=option)
    if live:
        _ensure_fit_for_running_brokers(engine, master, workers, differences)
    files = AuditFiles(report, output, history, differences, metrics, trends, overwrite, share)
    run = (
        AuditRun(snapshots or [], engine, master, workers, files)
        if bootstrap is None
        else NetworkRun(bootstrap, command_config, rate, state, files, snapshots or [], spark=on_spark, master=master)
    )
    files.ensure_writable()
    options = {
        "topics": chosen_topics(topics),
        "sample": sample,
        "replication_factor": replication_factor,
        "records": records,
        "history": history,
        "full": full,
        "rotate": rotate,
        "live": live or bootstrap is not None,
        "mask": mask_of(mask, mask_as, mask_salt, share=share),
        **({} if patience is None else {"patience": patience}),
    }
    with interruptible():
        document = run.document(options, json=json)
    disguise = files.disguise(document) if share else None
    if disguise is not None:
        document = disguise.document(document)
    files.write_report(document)
    files.write_trends()
    files.write_metrics(document, exit_status(document, written=not files.failures))
    if json:
        print_json({**document, "errors": disguise.document(files.failures) if disguise else files.failures})
    else:
        _tell(document)
    for failure in files.failures:
        complain(failure["message"])
    status = exit_status(document, written=not files.failures)
    if status != EXIT_CLEAN:
        raise typer.Exit(status)


def _ensure_fit_for_network(given: Mapping[str, object]) -> None:
    """Refuse what is about copies on disks. Raises BadParameter."""
    for option, value in given.items():
        if value:
            raise typer.BadParameter(
                "with --bootstrap replicas are read over the network, and this is about copies; leave it out",
                param_hint=option,
            )


def _ensure_fit_for_running_brokers(
    engine: Engine, master: str | None, workers: int | None, differences: Path | None
) -> None:
    """Refuse what cannot be done with logs that brokers write to. Raises BadParameter."""
    if engine is Engine.SPARK or master is not None:
        raise typer.BadParameter("brokers of this machine are audited by --engine local alone", param_hint="--live")
    if workers == 0:
        raise typer.BadParameter(
            "a log that is truncated ends the process that reads it: with --live name 1 or more", param_hint="--workers"
        )
    if differences is not None:
        raise typer.BadParameter(
            "with --live the records would be read again after they have changed; audit a snapshot of these topics",
            param_hint="--differences",
        )


@contextmanager
def interruptible() -> Iterator[None]:
    """End the audit quietly on Ctrl-C.

    Spark's own handler calls Java in the midst of the call that is interrupted, and both log their tracebacks.
    """

    def interrupt(*_: object) -> NoReturn:
        logging.disable()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def exit_status(document: Mapping[str, Any], *, written: bool) -> int:
    """Put first that acknowledged records are lost, then that something could not be read: it might differ too."""
    findings, partitions = document["findings"], document["partitions"]
    if any(finding["severity"] == "critical" for finding in findings):
        return EXIT_CRITICAL
    unread = any(finding["kind"] in NOT_READ for finding in findings)
    if unread or not written or any(partition["verdict"] == "unknown" for partition in partitions):
        return EXIT_FAILED
    differs = any(not _is_harmless(partition) for partition in partitions)
    damage = any(finding["severity"] == "error" or finding["kind"] == NOWHERE for finding in findings)
    return EXIT_FINDINGS if differs or damage else EXIT_CLEAN


def _is_harmless(partition: Mapping[str, Any]) -> bool:
    """Whether nothing is to be done: nobody chooses the metadata's leader, and most copies lag once all stopped."""
    lags = partition["verdict"] == "lagging" and partition["topic"] == METADATA_TOPIC
    return lags or partition["verdict"] in HARMLESS


def _tell(document: Mapping[str, Any]) -> None:
    from replication.copies.audit.judgement.elected import untold_in_words
    from replication.copies.audit.judgement.wording import advice_in_words, live_in_words, reading_in_words

    metrics, partitions = document["metrics"], document["partitions"]
    _lines(f"critical: {each['replica']}: {each['message']}" for each in _of_severity(document, "critical"))
    _lines(advice_in_words(each) for each in partitions if each["choices_differ"])
    for snapshot in document["snapshots"]:
        size = counted(snapshot["bytes"], "byte")
        print(f"{snapshot['name']}: {counted(snapshot['partitions'], 'partition')}, {size} of log")
    print_line(reading_in_words(metrics))
    if document["live"] is not None:
        print_line(live_in_words(document["live"]))
    verdicts = Counter(partition["verdict"] for partition in partitions)
    told = ", ".join(f"{count:,} {name}" for name, count in verdicts.most_common())
    print(f"{counted(len(partitions), 'partition')}: {told}")
    _lines(untold_in_words(partitions))
    _some(
        "Partitions that differ",
        ("partition", "verdicts", "Kafka elects", "least loss", "missing on", "under the least loss"),
        [_differing(partition) for partition in partitions if partition["verdict"] != "identical"],
    )
    _some(
        "Consumers beyond a truncation",
        ("group", "partition", "committed", "cut at"),
        [
            (each["group"], _name(each), each["committed_offset"], each["truncate_to"])
            for each in document["consumer_offsets"]
        ],
    )
    _some(
        "Findings",
        ("severity", "replica", "partition", "file", "position", "offset", "kind", "message"),
        [
            (
                each["severity"],
                each["replica"],
                _name(each) if each["topic"] is not None else "",
                *(each[column] for column in ("file", "position", "offset", "kind", "message")),
            )
            for each in document["findings"]
            if each["severity"] not in {"critical", "info"}
        ],
    )
    notes = metrics["findings_info"]
    if notes:
        print(f"{notes:,} informational findings: see --json or --report")
    for line in _news(document.get("history")):
        print_line(line)


def _of_severity(document: Mapping[str, Any], severity: str) -> Iterator[Mapping[str, Any]]:
    return (finding for finding in document["findings"] if finding["severity"] == severity)


def _lines(lines: Iterable[str]) -> None:
    """Print lines, not too many, as files are called what they are called."""
    told = list(lines)
    for line in told[:MOST_ROWS]:
        print_line(line)
    if len(told) > MOST_ROWS:
        print(f"and {len(told) - MOST_ROWS:,} more: see --json or --report")


def _some(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    if not rows:
        return
    print()
    print_table(title, columns, rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        print(f"and {len(rows) - MOST_ROWS:,} more: see --json or --report")


def _differing(partition: Mapping[str, Any]) -> tuple[object, ...]:
    from replication.copies.audit.judgement.elected import candidate_of, leaders_in_words
    from replication.copies.audit.judgement.wording import loss_in_words, replica_in_words

    least = candidate_of(partition, partition["least_loss"])
    return (
        _name(partition),
        ", ".join(partition["verdicts"]),
        leaders_in_words(partition),
        replica_in_words(least) if least else None,
        ", ".join(partition["missing"]),
        loss_in_words(partition, least),
    )


def _news(history: Mapping[str, Any] | None) -> Iterator[str]:
    if history is None:
        return
    yield ""
    if not history["new"] and not history["gone"]:
        yield "nothing new since the last audit"
    for change in ("new", "gone"):
        for line in history[change][:MOST_ROWS]:
            yield f"{change}: {line}"
        if len(history[change]) > MOST_ROWS:
            yield f"and {len(history[change]) - MOST_ROWS:,} more that are {change}"
    if history["standing"]:
        from replication.copies.audit.judgement.wording import longest_in_words

        yield longest_in_words(history["standing"])


def _name(place: Mapping[str, Any]) -> str:
    return f"{place['topic']}-{place['partition']}"
