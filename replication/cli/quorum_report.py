"""What `advise` says of the metadata's partition: which controller's copy to restore from."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from replication.cli.output import EXIT_CLEAN, EXIT_CRITICAL, EXIT_FAILED, EXIT_FINDINGS, print_table, shown

if TYPE_CHECKING:
    from replication.planning import Replica
    from replication.planning.failures import OnError
    from replication.quorum_recovery import CopyStanding, QuorumAdvice

_INDENT = "   "


def advise_on_quorum(replicas: Sequence["Replica"], on_error: "OnError") -> "QuorumAdvice | None":
    """Compare the copies of the metadata that the replicas hold; None where none of them has one that can be read."""
    from replication.metadata_partition import METADATA_PARTITION
    from replication.planning.failures import PARTITION_ERRORS
    from replication.planning.rereading import reread
    from replication.quorum_recovery import MetadataCopy, advise_quorum

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


def status_of(advice: "QuorumAdvice | None") -> int:
    """Return the exit status: that a copy only lags is no finding, nor what brokers' copies alone do not show."""
    if advice is None:
        return EXIT_CLEAN
    if advice.recommended is None:
        return EXIT_FAILED
    if advice.loses_what_is_committed:
        return EXIT_CRITICAL
    is_short = not advice.is_complete and any(each.is_voters for each in advice.copies)
    is_wrong = any(each.is_forked or each.copy.faults for each in advice.copies)
    return EXIT_FINDINGS if is_short or is_wrong else EXIT_CLEAN


def print_quorum(advice: "QuorumAdvice") -> None:
    """Print what to restore from, what the copies hold and the others would forget, and what to do next."""
    from replication.quorum_recovery.wording import headline, only_brokers, warning

    if not any(each.is_voters for each in advice.copies) and advice.voters and advice.best:
        _print(only_brokers(advice.best))
        return
    _print(headline(advice))
    misleading = warning(advice)
    if misleading:
        _print(misleading)
    print_table(
        "Copies of the controllers' metadata",
        ("copy", "node", "has a vote", "last epoch", "end offset", "same up to", "last written", "snapshots"),
        [_row(each) for each in advice.copies],
    )
    for standing in advice.copies:
        for line in _consequences(standing):
            _print(line)
    for doubt in advice.doubts:
        _print(f"not certain: {doubt}")
    for number, step in enumerate(advice.next_steps, 1):
        _print(f"{number}. {step.text}")
        for command in step.commands:
            print(shown(f"{_INDENT}{command}"))


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


def _consequences(standing: "CopyStanding") -> Iterator[str]:
    from replication.quorum_recovery.wording import difference_lines

    for line in difference_lines(standing):
        yield f"restored from {standing.copy.name}, the cluster {line}"


def _moment(timestamp: int | None) -> str | None:
    if timestamp is None:
        return None
    try:
        return f"{datetime.fromtimestamp(timestamp / 1000, UTC):%Y-%m-%d %H:%M:%S}Z"
    except (OverflowError, ValueError, OSError):
        return f"{timestamp} ms"


def _print(text: str) -> None:
    """Print a sentence, wrapped where a person reads it as it comes."""
    safe = shown(text)
    if sys.stdout.isatty():
        safe = textwrap.fill(safe, shutil.get_terminal_size().columns - 1, subsequent_indent=_INDENT)
    print(safe)
