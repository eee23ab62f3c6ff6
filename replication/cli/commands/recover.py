"""`epochlog recover`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.cli.changing.change import Change, DryRunOption, InPlaceOption, OutputOption, Workplace, YesOption
from replication.cli.changing.recovery_outcome import RecoveryOutcome
from replication.cli.output.failure import error_as_json
from replication.cli.output.new_copy import is_full_disk
from replication.cli.output.printing import (
    EXIT_CRITICAL,
    EXIT_FAILED,
    EXIT_FINDINGS,
    Advance,
    JsonOption,
    print_json,
    print_table,
    progress_bar,
    shown,
    told,
)

if TYPE_CHECKING:
    from logstore import Log, LogStoreError, RecoveryEstimate, TopicPartition
    from logstore.files.root_checkpoints import PartitionCheckpoints
    from logstore.offline.partition_directory import PartitionDirectory
    from replication.cli.changing.unusable_file import UnusableFileError

    Unreadable = dict[TopicPartition, LogStoreError | OSError | UnusableFileError]
    """Why a partition could not be recovered."""


def recover(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A partition directory or log.dirs root.")],
    *,
    output: OutputOption = None,
    in_place: InPlaceOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Check all segments, also those that count as flushed or cleanly closed.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Recover logs as Kafka does after a crash: cut off what is torn or damaged, rebuild indexes and leader epochs.

    Afterwards each log ends before its first damaged batch. If records below its high watermark are lost, that is
    reported, with exit status 3. Exit status 2 if a log could not be recovered; the others are still recovered.
    1 if anything was dropped or rebuilt, or if a file beside the log is damaged that recovery leaves as it is; with
    --dry-run, if batches would be dropped or leader epochs changed: it does not check indexes.

    Examples:
      epochlog recover /var/kafka-logs --dry-run
      epochlog recover /var/kafka-logs --output /tmp/recovered
      epochlog recover /var/kafka-logs --in-place --all
    """
    from logstore import RecoveryEstimate
    from logstore.topic_partition import parse_directory_name
    from replication.copies.planning.named_roots import only_directory

    change = Change(only_directory(directory), output, in_place, dry_run, yes, json)
    change.ensure_allowed()
    with change.locked() as workplace:
        partitions = workplace.partitions
        if everything:
            partitions = [replace(each, checkpoints=_unchecked(each.checkpoints)) for each in partitions]
        unusable: Unreadable = {
            parse_directory_name(place.name).topic_partition: error for place, error in workplace.unusable.items()
        }
        estimate = RecoveryEstimate.of(partitions)
        if dry_run:
            outcomes, unreadable = _each(partitions, partial(_expected, as_root=workplace.is_brokers_root))
        else:
            change.propose(str(estimate), *(_left_alone(*each) for each in unusable.items()))
            with workplace.made() as path, progress_bar("recovering", estimate.bytes) as advance:
                # Opening a root as a whole would fail at a log that stands in its way.
                if workplace.is_brokers_root and (change.output or not unusable):
                    outcomes, unreadable = _recover_root(workplace, path, advance, everything=everything)
                else:
                    copies = [workplace.moved(each, path) for each in partitions]
                    outcomes, unreadable = _each(copies, partial(_recover, advance=advance))
                if change.output:
                    _ensure_room(unreadable)
    known = {each.topic_partition: each for each in partitions}
    outcomes = [each.knowing(known[each.partition]) for each in outcomes]
    unreadable |= unusable
    _report(estimate, outcomes, unreadable, dry_run=dry_run, json=json)
    if any(each.committed_offsets_lost for each in outcomes):
        raise typer.Exit(EXIT_CRITICAL)
    if unreadable:
        raise typer.Exit(EXIT_FAILED)
    if any(each.needs_attention for each in outcomes):
        raise typer.Exit(EXIT_FINDINGS)


def _each(
    partitions: "Sequence[PartitionDirectory]", do: "Callable[[PartitionDirectory], RecoveryOutcome]"
) -> tuple[list[RecoveryOutcome], "Unreadable"]:
    """Recover each; one that fails does not stop the others."""
    from logstore import LogStoreError

    outcomes: list[RecoveryOutcome] = []
    unreadable: Unreadable = {}
    for partition in partitions:
        try:
            outcomes.append(do(partition))
        except (LogStoreError, OSError) as error:
            unreadable[partition.topic_partition] = _placed(error, partition.path)
    return outcomes, unreadable


def _placed(error: "LogStoreError | OSError", place: Path) -> "LogStoreError | OSError":
    """Return an error that names the file: the system does not where it could not write more."""
    if isinstance(error, OSError) and error.filename is None:
        error.filename = str(place)
    return error


def _ensure_room(unreadable: "Unreadable") -> None:
    """Raise the error of a full disk where one kept logs of a copy from being recovered."""
    full = next(filter(is_full_disk, unreadable.values()), None)
    if full is not None:
        raise full


def _expected(partition: "PartitionDirectory", *, as_root: bool) -> RecoveryOutcome:
    """Foresee what becomes of a log; one that is not recovered with its root is refused for its checkpoint files."""
    from logstore.directory.offline_log import ensure_checkpoints_parse

    if not as_root:
        ensure_checkpoints_parse(partition)
    return RecoveryOutcome.expected(partition)


def _recover(partition: "PartitionDirectory", advance: Advance) -> RecoveryOutcome:
    from logstore.directory.offline_log import OfflineLog

    with OfflineLog.open(partition, progress=advance) as offline:
        pass
    return RecoveryOutcome.of(offline.log)


def _recover_root(
    workplace: Workplace, path: Path, advance: Advance, *, everything: bool
) -> tuple[list[RecoveryOutcome], "Unreadable"]:
    """Open the whole root, which recovers it in several threads; report what was done if its disk fails meanwhile."""
    from epoch.base.resource_limits import is_limit
    from logstore import LogDirectory, LogStoreError

    lock = workplace.hand_over_root() if workplace.output is None else None
    if everything:
        _forget_what_is_flushed(path)
    logs: Mapping[TopicPartition, Log] = {}
    unreadable: Mapping[TopicPartition, LogStoreError] = {}
    failed: Unreadable = {}

    def keep(made: LogDirectory) -> None:
        # Taken before any log is opened, for a directory that fails lets go of them.
        nonlocal logs, unreadable
        logs, unreadable = made.partitions, made.unreadable

    try:
        with LogDirectory.open(path, replicated=True, progress=advance, lock=lock, made=keep):
            pass
    except OSError as error:
        if isinstance(error, LogStoreError) and not is_limit(error):
            raise
        partitions = [each.topic_partition for each in workplace.partitions]
        unopened = [each for each in partitions if each not in logs and each not in unreadable]
        # Where all were opened, closing them failed: none is known to be whole on the disk.
        failed = dict.fromkeys(unopened or partitions, _placed(error, path))
    outcomes = [RecoveryOutcome.of(log) for partition, log in sorted(logs.items()) if partition not in failed]
    return outcomes, {**unreadable, **failed}


def _unchecked(checkpoints: "PartitionCheckpoints") -> "PartitionCheckpoints":
    return checkpoints._replace(clean_shutdown=False, recovery_point=0)


def _forget_what_is_flushed(root: Path) -> None:
    """Remove the files that spare recovery its work."""
    from epoch.filesystem import REAL
    from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
    from logstore.files.offset_checkpoint import RECOVERY_POINT_CHECKPOINT

    for path in (root / CLEAN_SHUTDOWN_NAME, root / RECOVERY_POINT_CHECKPOINT):
        if path.exists():
            REAL.unlink(path)


def _report(
    estimate: "RecoveryEstimate",
    outcomes: Sequence[RecoveryOutcome],
    unreadable: "Unreadable",
    *,
    dry_run: bool,
    json: bool,
) -> None:
    if json:
        errors = [{**partition._asdict(), **error_as_json(error)} for partition, error in sorted(unreadable.items())]
        partitions = [each.as_json() for each in outcomes]
        print_json({"dry_run": dry_run, "estimate": estimate.as_json(), "partitions": partitions, "errors": errors})
        return
    _print(outcomes, dry_run=dry_run)
    for partition, error in sorted(unreadable.items()):
        print(shown(_left_alone(partition, error)))


def _left_alone(partition: "TopicPartition", error: Exception) -> str:
    return f"{partition} could not be recovered: {told(error)}"


def _print(outcomes: Sequence[RecoveryOutcome], *, dry_run: bool) -> None:
    print_table(
        "To be recovered" if dry_run else "Recovered",
        (
            "partition",
            "log start",
            "log end",
            "segments checked",
            "batches",
            "bytes dropped",
            "what would be done" if dry_run else "what was done",
        ),
        [
            (
                str(each.partition),
                each.log_start_offset,
                each.log_end_offset,
                None if dry_run else each.report.recovered_segments,
                None if dry_run else each.report.recovered_batches,
                each.report.dropped_bytes,
                str(each),
            )
            for each in sorted(outcomes, key=lambda each: not each.committed_offsets_lost)
        ],
    )
