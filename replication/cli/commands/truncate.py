"""`epochlog truncate`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replication.base.counted import counted
from replication.cli.changing.change import Change, DryRunOption, InPlaceOption, OutputOption, YesOption
from replication.cli.changing.unusable_file import UnusableFileError
from replication.cli.output.emphasis import emphasized
from replication.cli.output.printing import EXIT_CRITICAL, EXIT_FINDINGS, JsonOption, print_json, progress_bar, shown

if TYPE_CHECKING:
    from logstore.offline.partition_directory import PartitionDirectory
    from logstore.offline.recovered_log import RecoveredLog


def _offset(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise typer.BadParameter(f"{text!r} is not an offset, which is a whole number from 0 on")
    return int(text)


def truncate(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A partition directory.")],
    *,
    to: Annotated[int, typer.Option(metavar="OFFSET", parser=_offset, help="The new log end offset.")],
    output: OutputOption = None,
    in_place: InPlaceOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Drop every batch of a log that reaches OFFSET or beyond: from segments, indexes, leader epochs and producers.

    Batches are dropped whole: if one spans OFFSET, the log ends before it. With --in-place, the log's offsets in the
    checkpoint files, such as its high watermark, are lowered to its end. A log that was not closed cleanly is recovered
    first. An offset at or beyond the log's end drops nothing.

    Exit status 3 if committed records, those below the high watermark, are dropped, would be dropped with --dry-run, or
    are already gone: this is reported first, and does not prevent the truncation. 1 if the file with the high watermark
    cannot be read.

    Examples:
      epochlog truncate /var/kafka-logs/orders-0 --to 11530 --dry-run
      epochlog truncate /var/kafka-logs/orders-0 --to 11530 --output /tmp/truncated
      epochlog truncate /var/kafka-logs/orders-0 --to 11530 --in-place
    """
    from logstore import NotALogDirectoryError, OfflineLogDirectory, RecoveryEstimate
    from logstore.directory.offline_log import OfflineLog, ensure_checkpoints_parse
    from replication.copies.planning.named_roots import only_directory

    change = Change(only_directory(directory), output, in_place, dry_run, yes, json)
    change.ensure_allowed()
    with change.locked() as workplace:
        opened = workplace.opened
        if isinstance(opened, OfflineLogDirectory):
            raise NotALogDirectoryError(
                "a whole root cannot be truncated to one offset",
                file=directory,
                advice="name one partition's directory",
            )
        _ensure_has_segments(opened)
        if output is None:
            ensure_checkpoints_parse(opened)
        found = _load(opened)
        outcome = _outcome(found, to)
        if dry_run:
            _report({**outcome, "dry_run": True}, _plan(outcome), json=json)
            _end_as(outcome)
            return
        change.propose(*_plan(outcome))
        with (
            workplace.made() as path,
            progress_bar("truncating", RecoveryEstimate.of([opened]).bytes) as advance,
            OfflineLog.open(workplace.moved(opened, path), keeps_high_watermark=True, progress=advance) as offline,
        ):
            if outcome["log_end_offset"] < offline.log.log_end_offset:
                offline.truncate_to(outcome["log_end_offset"])
        outcome["directory"] = str(path)
        outcome["log_end_offset"] = offline.log.log_end_offset
        outcome["dropped_by_recovery"] = offline.log.report.dropped_bytes
    _report({**outcome, "dry_run": False}, _deed(outcome), json=json)
    _end_as(outcome)


def _ensure_has_segments(partition: "PartitionDirectory") -> None:
    """Refuse to make an empty log where all segments are gone: it would pass for one that never held any."""
    if not partition.segments:
        committed = partition.checkpoints.high_watermark
        lost = f", including committed records: its high watermark is {committed:,}" if committed else ""
        raise UnusableFileError(
            partition.path,
            f"nothing to truncate: all segments are missing (there is no .log file){lost}",
            "restore them from a copy; or remove the whole directory, if you know that another replica holds its "
            "records (epochlog advise): a broker copies them from the leader again",
        )


def _load(partition: "PartitionDirectory") -> "RecoveredLog":
    from epoch import EpochError
    from logstore import RecoveredLog

    try:
        return RecoveredLog.load(partition)
    except EpochError as error:
        error.add_note("`epochlog recover` rebuilds this file from the batches: run it first")
        raise


def _end_as(outcome: dict[str, Any]) -> None:
    if outcome["committed_lost"]["records"]:
        raise typer.Exit(EXIT_CRITICAL)
    if outcome["high_watermark_unread"]:
        raise typer.Exit(EXIT_FINDINGS)


def _outcome(found: "RecoveredLog", to: int) -> dict[str, Any]:
    from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT
    from replication.cli.changing.committed_loss import committed_loss
    from replication.copies.planning.damage import Damage

    damage = Damage.of(found)
    removed, end = found.removed_by_truncation(to), found.end_after_truncation(to)
    topic_partition, committed = found.partition.topic_partition, found.partition.checkpoints.high_watermark
    # The high watermark goes down only with a truncation: beyond the end it is the last trace of what was committed.
    is_cut = end < found.log_end_offset
    return {
        "topic": topic_partition.topic,
        "partition": topic_partition.partition,
        "directory": str(found.partition.path),
        "truncate_to": to,
        "log_end_offset_before": found.log_end_offset,
        "log_end_offset": end,
        "high_watermark_before": committed,
        "high_watermark": committed if committed is None or not is_cut else min(committed, end),
        "high_watermark_unread": HIGH_WATERMARK_CHECKPOINT in found.partition.checkpoints.unread,
        "records_removed": removed.records,
        "bytes_removed": removed.bytes,
        "committed_lost": committed_loss(found, end).as_json(),
        "damage": damage and damage.as_json(),
        "dropped_by_recovery": found.dropped_bytes,
    }


def _plan(outcome: dict[str, Any]) -> list[str]:
    plan = (
        f"{_name(outcome)}: {_removed(outcome)} to drop; the log "
        f"ends at {outcome['log_end_offset_before']:,} and will end at {_end(outcome)}"
    )
    return [*_committed(outcome, "is to be", "are to be"), *_damage(outcome, "are to be"), *_unknown(outcome), plan]


def _deed(outcome: dict[str, Any]) -> list[str]:
    deed = (
        f"{_name(outcome)}: the log ended at {outcome['log_end_offset_before']:,} and ends "
        f"at {_end(outcome)}; {_removed(outcome)} dropped from {shown(outcome['directory'])}"
    )
    return [*_committed(outcome, "was", "were"), *_damage(outcome, "were"), *_unknown(outcome), deed]


def _removed(outcome: dict[str, Any]) -> str:
    records = outcome["records_removed"]
    return f"{counted(records, 'record')} in {counted(outcome['bytes_removed'], 'byte')}"


def _end(outcome: dict[str, Any]) -> str:
    """Return where the log ends, and why not at the requested offset."""
    end, to = outcome["log_end_offset"], outcome["truncate_to"]
    cut_before = end < min(to, outcome["log_end_offset_before"])
    return f"{end:,}, not at {to:,}, where no batch ends" if cut_before else f"{end:,}"


def _name(outcome: dict[str, Any]) -> str:
    return f"{outcome['topic']}-{outcome['partition']}"


def _committed(outcome: dict[str, Any], of_one: str, of_several: str) -> Iterator[str]:
    """Print which committed records are lost, in a line before all others."""
    from replication.copies.audit.judgement.committed_records import in_words
    from replication.copies.audit.judgement.wording import span_of

    lost = span_of(outcome["committed_lost"])
    if not lost.records:
        return
    committed = f"the high watermark, {outcome['high_watermark_before']:,}"
    if lost.first_offset is not None and lost.first_offset >= outcome["log_end_offset_before"]:
        what = "that lie below" if lost.records > 1 else "that lies below"
        yield f"critical: {in_words(lost)} of {_name(outcome)} {what} {committed}, cannot be read from this log"
    else:
        what = f"{of_one} dropped though it lies" if lost.records == 1 else f"{of_several} dropped though they lie"
        yield f"critical: {in_words(lost)} of {_name(outcome)} {what} below {committed}"


def _damage(outcome: dict[str, Any], are: str) -> Iterator[str]:
    """Yield why the log ends before the requested offset, and what recovery drops for it."""
    if not outcome["damage"]:
        return
    yield f"{_name(outcome)}: {outcome['damage']['message']}"
    if dropped := outcome["dropped_by_recovery"]:
        yield (
            f"{_name(outcome)}: recovery truncates the log to {outcome['log_end_offset_before']:,}, regardless of "
            f"--to: {counted(dropped, 'byte')} {are} dropped"
        )


def _unknown(outcome: dict[str, Any]) -> Iterator[str]:
    """Report when it is not known whether what is dropped was committed."""
    if outcome["high_watermark_before"] is None and (outcome["records_removed"] or outcome["dropped_by_recovery"]):
        why = "could not be read" if outcome["high_watermark_unread"] else "does not mention the partition"
        yield (
            f"{_name(outcome)}: it is not known whether the dropped records were committed: "
            f"replication-offset-checkpoint {why}; check what other replicas hold first (epochlog advise)"
        )


def _report(outcome: dict[str, Any], lines: Sequence[str], *, json: bool) -> None:
    if json:
        print_json(outcome)
    else:
        print(*map(emphasized, lines), sep="\n")
