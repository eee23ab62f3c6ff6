"""`epochlog repair`."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from epoch.base.resource_limits import ResourceLimitError
from replication.base.counted import counted
from replication.cli.output.failure import UsageError
from replication.cli.output.printing import (
    EXIT_CLEAN,
    EXIT_CRITICAL,
    EXIT_FINDINGS,
    JsonOption,
    RemoteOption,
    complain,
    print_json,
    progress_bar,
    shown,
    told,
)
from replication.cli.output.prose import print_status, wrapped

if TYPE_CHECKING:
    from logstore.offline.offline_log_directory import OfflineLogDirectory
    from logstore.offline.partition_directory import PartitionDirectory
    from replication.copies.repair.range_report import HealedRange, LeftRange
    from replication.copies.repair.repair_plan import RepairPlan
    from replication.copies.repair.repair_report import RepairReport

MOST_NAMES: Final = 5
"""Partitions that the last line names."""


def repair(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A partition directory or log.dirs root.")],
    *,
    others: Annotated[
        list[Path],
        typer.Option(
            "--from",
            metavar="OTHER",
            readable=False,
            help="The same of another replica, or a directory of one or more brokers' roots; may be given several "
            "times.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="COPY",
            help="Write the repaired copy here; it must not exist yet.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what would be healed.")] = False,
    remote: RemoteOption = None,
    json: JsonOption = False,
) -> None:
    """Heal a damaged copy from other replicas: write a new one, in which their sound batches replace what is damaged.

    Batches are used only where the batches around them and the leader epochs prove that they belong there; what cannot
    be proven is left as it is. Indexes, producer snapshots and leader epochs that are wrong or missing are rebuilt. DIR
    and the others are only read. No broker may have DIR open.

    Exit status 3 if committed records are still damaged or missing; 1 if anything else was wrong, healed or not. A dry
    run judges the logs alone, not the files beside them.

    Examples:
      epochlog repair broker-1/orders-0 --from broker-2/orders-0 --dry-run
      epochlog repair broker-1/orders-0 --from broker-2/orders-0 --output repaired
      epochlog repair broker-1 --from broker-2 --from broker-3 --output repaired
    """
    from logstore.offline.offline_log_directory import OfflineLogDirectory, open_offline
    from replication.copies.planning.named_roots import (
        ensure_one_cluster,
        only_directory,
        properties_of,
    )
    from replication.copies.repair.target import ensure_new, open_target

    if (output is None) is not dry_run:
        raise UsageError("name a new directory with --output, or look first with --dry-run; not both")
    directory = only_directory(directory)
    read = list(_roots([directory, *others]))
    if output is not None:
        ensure_new(output, read)
    damaged = open_offline(directory)
    sources = [each for other in others for each in _sources(other, damaged)]
    left_out = frozenset(_doubled(others))
    known = {str(each.path): properties_of(each) for each in (damaged, *sources)}
    ensure_one_cluster({place: whose.cluster_id if whose else None for place, whose in known.items()})
    _ensure_free(damaged)
    partitions = list(damaged.partitions()) if isinstance(damaged, OfflineLogDirectory) else [damaged]
    if not partitions:
        raise UsageError(f"{directory} holds no partition; name a partition's directory, or the root that holds it")
    if output is None:
        reports = [_plan(each, sources, remote, left_out).report() for each in partitions]
    else:
        with open_target(output, read) as target:
            reports = list(_write(damaged, partitions, sources, target, remote, left_out))
    status = _status(reports)
    if json:
        document = {"dry_run": dry_run, "output": None if output is None else str(output)}
        print_json({**document, "partitions": [each.as_json() for each in reports]})
    else:
        for line in _lines(reports, output):
            print(line)
        if status != EXIT_CLEAN:
            print_status(status, _why(reports, output))
    if status != EXIT_CLEAN:
        raise typer.Exit(status)


def _status(reports: "Sequence[RepairReport]") -> int:
    if any(each.committed_left for each in reports):
        return EXIT_CRITICAL
    return EXIT_CLEAN if all(each.is_sound for each in reports) else EXIT_FINDINGS


def _why(reports: "Sequence[RepairReport]", output: Path | None) -> str:
    """Return why the exit status is not 0: also what has been healed was wrong."""
    names = [f"{each.topic}-{each.partition}" for each in reports if each.committed_left]
    if names:
        return f"committed records are still damaged or missing in {', '.join(names[:MOST_NAMES])}"
    if any(each.left or each.findings for each in reports):
        return "something is wrong that these copies do not heal, as is said above"
    return "what was wrong is healed in the copy" if output else "something is wrong, and --output would heal all of it"


def _roots(places: Sequence[Path]) -> Iterator[Path]:
    """Give the places that are only read; of a partition's directory in a root, all of the root."""
    from logstore.offline.offline_log_directory import has_root_files

    for place in places:
        parent = place.absolute().parent
        try:
            is_in_root = has_root_files(each.name for each in parent.iterdir())
        except OSError:
            is_in_root = False
        yield parent if is_in_root else place


def _sources(
    other: Path, damaged: "OfflineLogDirectory | PartitionDirectory"
) -> "Sequence[OfflineLogDirectory | PartitionDirectory]":
    """Open what batches are taken from: what is named, or of several brokers' roots all but the damaged one."""
    from replication.copies.planning.named_roots import directories_in

    opened = directories_in(other)
    own = damaged.path.resolve()
    return opened if len(opened) == 1 else [each for each in opened if each.path.resolve() not in {own, own.parent}]


def _doubled(others: Sequence[Path]) -> Iterator[Path]:
    """Report and skip partitions that one broker has in several log.dirs: which of them counts is unknown."""
    from replication.copies.planning.named_roots import brokers_in, doubled_in

    for roots in brokers_in(others):
        for partition, error in doubled_in(roots[0].path.name, roots).items():
            complain(f"nothing is taken from there: {told(error)}")
            yield from (root.path / str(partition) for root in roots)


def _ensure_free(damaged: "OfflineLogDirectory | PartitionDirectory") -> None:
    """Refuse what a broker works on. Raises DirectoryLockedError."""
    from logstore.files.directory_lock import DirectoryLock
    from logstore.offline.offline_log_directory import OfflineLogDirectory

    own = [damaged.path / name for name in damaged.live_names()] if isinstance(damaged, OfflineLogDirectory) else []
    for place in (damaged.path, *(own or [damaged.path.parent])):
        DirectoryLock.ensure_free(place)


def _plan(
    partition: "PartitionDirectory",
    sources: "Sequence[OfflineLogDirectory | PartitionDirectory]",
    remote: bool | None,
    left_out: Collection[Path],
) -> "RepairPlan":
    from logstore.offline.offline_log_directory import OfflineLogDirectory
    from replication.copies.repair.repair_plan import plan_repair

    others = []
    for source in sources:
        if not isinstance(source, OfflineLogDirectory):
            others.append(source)
        elif partition.path.name in source.live_names() and source.path / partition.path.name not in left_out:
            others.append(source.open_partition(partition.path.name))
    return plan_repair(partition, others, has_remote=remote)


def _write(
    damaged: "OfflineLogDirectory | PartitionDirectory",
    partitions: "Sequence[PartitionDirectory]",
    sources: "Sequence[OfflineLogDirectory | PartitionDirectory]",
    target: Path,
    remote: bool | None,
    left_out: Collection[Path],
) -> "Iterator[RepairReport]":
    """Write all partitions, of a root also what is beside them."""
    from logstore.directory.offline_log import lower_checkpoints
    from logstore.errors import LogStoreError
    from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT
    from logstore.offline.directory_copy import copy_directory
    from logstore.offline.offline_log_directory import OfflineLogDirectory

    is_root = isinstance(damaged, OfflineLogDirectory)
    if is_root:
        copy_directory(damaged.path, target, without={each.path for each in partitions})
    for partition in partitions:
        plan = _plan(partition, sources, remote, left_out)
        with progress_bar(f"writing {partition.path.name}", plan.bytes) as advance:
            report = plan.write(target / partition.path.name, progress=advance)
        if is_root:
            try:
                lower_checkpoints(
                    target, partition.topic_partition, plan.log_end_offset, kept={HIGH_WATERMARK_CHECKPOINT}
                )
            except ResourceLimitError:
                raise
            except LogStoreError as error:
                complain(f"left as it is: {told(error)}")
        yield report


def _lines(reports: "Sequence[RepairReport]", output: Path | None) -> Iterator[str]:
    for report in reports:
        name = f"{report.topic}-{report.partition}"
        if report.is_sound:
            is_all = output is not None
            yield from wrapped(f"{name}: {'nothing is wrong' if is_all else 'its log is sound'}")
        for healed in report.healed:
            yield from wrapped(f"{name}: {_healed(healed, output)}", "  ", "")
        if report.made_anew:
            yield from wrapped(f"{name}: rebuilt: {', '.join(report.made_anew)}", "  ", "")
        for left in report.left:
            yield from wrapped(f"{name}: {_left(left)}", "  ", "")
        for finding in report.findings:
            place = f" in {finding.file}" if finding.file else ""
            yield from wrapped(f"{name}: still wrong{place}: {finding.kind}: {finding.message}", "  ", "")
    if output is None:
        yield from wrapped("The files beside the logs were not checked: epochlog verify does that.")
    else:
        yield f"Written to {shown(str(output))}, each partition under its own name"


def _healed(healed: "HealedRange", output: Path | None) -> str:
    is_to_be = output is None
    at = f"position {healed.position:,} of {healed.file}"
    if not healed.batches:
        done = "to leave out" if is_to_be else "left out"
        return f"{done}: {counted(healed.damaged_bytes, 'byte')} at {at}, which are no batch of this log"
    there = f"in place of {counted(healed.damaged_bytes, 'byte')}" if healed.damaged_bytes else "which were missing"
    return (
        f"{'to heal' if is_to_be else 'healed'}: offsets {healed.first_offset:,} to {healed.end_offset - 1:,}, "
        f"{counted(healed.batches, 'batch', 'batches')} of {', '.join(healed.sources)}, {there} at {at}"
    )


def _left(left: "LeftRange") -> str:
    end = "on" if left.end_offset is None else f"to {left.end_offset - 1:,}"
    return f"left as it is: offsets {left.first_offset:,} {end}, position {left.position:,} of {left.file}: {left.why}"
