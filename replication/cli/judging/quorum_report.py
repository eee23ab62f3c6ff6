"""What `advise` and `incident` say of the metadata's partition: which controller's copy to restore from."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.cli.judging.disguise import Disguise
from replication.cli.output.printing import EXIT_CLEAN, EXIT_CRITICAL, EXIT_FAILED, EXIT_FINDINGS, print_table, shown
from replication.cli.output.prose import wrapped

if TYPE_CHECKING:
    from replication.copies.planning.failures import OnError
    from replication.copies.planning.replica import Replica
    from replication.copies.quorum_recovery.quorum_advice import CopyStanding, QuorumAdvice

_INDENT = "   "


def advise_on_quorum(replicas: Sequence["Replica"], on_error: "OnError") -> "QuorumAdvice | None":
    """Compare the copies of the metadata that the replicas hold; None where none of them has one that can be read."""
    from replication.base.metadata_partition import METADATA_PARTITION
    from replication.copies.planning.failures import PARTITION_ERRORS
    from replication.copies.planning.rereading import reread
    from replication.copies.quorum_recovery.metadata_copy import MetadataCopy
    from replication.copies.quorum_recovery.quorum_advice import advise_quorum

    copies = []
    for replica in replicas:
        held = replica.partitions.get(METADATA_PARTITION)
        if held is None:
            continue
        try:
            copies.append(reread(held, partial(MetadataCopy.read, replica.name)))
        except PARTITION_ERRORS as error:
            on_error(METADATA_PARTITION, error)
    return advise_quorum(copies) if copies else None


def advise_on_snapshots(snapshots: Sequence[Mapping[str, Any]], on_error: "OnError") -> "QuorumAdvice | None":
    """Do the same for the `snapshots` of an audit's document; those in object stores are left out."""
    from replication.base.metadata_partition import METADATA_PARTITION

    local = [
        (snapshot["name"], Path(root)) for snapshot in snapshots for root in snapshot["roots"] if "://" not in root
    ]
    holding = [(name, root) for name, root in local if os.path.lexists(root / str(METADATA_PARTITION))]
    if not holding:
        return None
    from replication.base.errors import NoMetadataError
    from replication.copies.planning.failures import PARTITION_ERRORS
    from replication.copies.quorum_recovery.quorum_advice import advise_quorum
    from replication.copies.quorum_recovery.reading import read_copy

    copies = []
    for name, root in holding:
        try:
            copies.append(read_copy(root, name))
        except NoMetadataError:
            pass  # in another of its roots, or nowhere
        except PARTITION_ERRORS as error:
            on_error(METADATA_PARTITION, error)
    return advise_quorum(copies) if copies else None


def passed_on(advice: "QuorumAdvice", disguise: Disguise) -> "QuorumAdvice":
    """Return the advice with other words for the names and places of the copies, and for hosts."""
    for voter in advice.voters.voters if advice.voters else ():
        disguise.take_in_hosts(",".join(voter.endpoints))
    return replace(
        advice,
        copies=tuple(
            replace(each, copy=replace(each.copy, name=disguise.text(each.copy.name))) for each in advice.copies
        ),
        recommended=advice.recommended and disguise.text(advice.recommended),
        misleading=tuple(map(disguise.text, advice.misleading)),
        doubts=tuple(map(disguise.text, advice.doubts)),
        backup=disguise.step(advice.backup),
        steps_after_backup=tuple(map(disguise.step, advice.steps_after_backup)),
    )


def status_of(advice: "QuorumAdvice | None") -> int:
    """Return the exit status: that a copy only lags is no finding, nor what brokers' copies alone do not show."""
    if advice is None:
        return EXIT_CLEAN
    if advice.recommended is None:
        return EXIT_FAILED
    if advice.loses_what_is_committed:
        return EXIT_CRITICAL
    return EXIT_FINDINGS if advice.has_findings else EXIT_CLEAN


def print_quorum(advice: "QuorumAdvice") -> None:
    """Print what to restore from, what the copies hold and the others would forget, and what to do next."""
    from replication.copies.quorum_recovery.wording import opening, reasons

    _print(opening(advice))
    if advice.voters and not advice.is_of_controllers:
        return
    print_table(
        "Copies of the controllers' metadata",
        ("copy", "node", "has a vote", "last epoch", "end offset", "same up to", "last written", "snapshots"),
        [_row(each) for each in advice.copies],
    )
    _print(reasons(advice))
    for number, step in enumerate((advice.backup, *advice.steps_after_backup), 1):
        for line in wrapped(step.what, _INDENT, f"{number}. "):
            print(line)
        for command in step.commands:
            print(shown(f"{_INDENT}  {command}"))


def _row(standing: "CopyStanding") -> tuple[object, ...]:
    copy = standing.copy
    return (
        copy.name,
        copy.node_id,
        "yes" if standing.is_voters else "no",
        standing.position.epoch,
        standing.position.end_offset,
        standing.common_end,
        _moment(copy.last_timestamp),
        ", ".join(f"{each.end_offset:,} of epoch {each.epoch}" for each in copy.log.snapshots),
    )


def _moment(timestamp: int | None) -> str | None:
    if timestamp is None:
        return None
    try:
        return f"{datetime.fromtimestamp(timestamp / 1000, UTC):%Y-%m-%d %H:%M:%S}Z"
    except (OverflowError, ValueError, OSError):
        return f"{timestamp} ms"


def _print(sentences: Iterator[str]) -> None:
    for sentence in sentences:
        for line in wrapped(sentence, _INDENT, ""):
            print(line)
