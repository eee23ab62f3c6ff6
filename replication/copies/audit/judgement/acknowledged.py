"""Up to where a copy's records are known to be acknowledged, and may be, by all evidence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from epoch import EpochHistory
from epoch.history import MAX_OFFSET
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.judgement.uncommitted import uncommitted_from
from replication.copies.audit.snapshots.registered import Registered

Comparisons = Mapping[frozenset[str], Comparison]


class Acknowledged(NamedTuple):
    """Of one copy's records those that were acknowledged once all in sync had them."""

    known: int = 0
    """The offset below which all were."""
    at_most: int = MAX_OFFSET
    """The offset from which on none was. What a producer with acks=1 was told is known to nobody."""


def acknowledged(
    summaries: Sequence[CopySummary], comparisons: Comparisons, registered: Registered | None = None
) -> dict[str, Acknowledged]:
    """Return for each copy which of its records were acknowledged.

    A high watermark counts in every copy, as far as that is the same log; so does how far a consumer group has read,
    and what a leader wrote as the only one in sync was acknowledged as it was written. A high watermark that no file
    has, or that was reset to 0, shows nothing.
    Nothing was acknowledged that somebody in sync never had, but for what a leader acknowledges by itself with acks=1.
    Of what lies between nothing is known: brokers write high watermarks down every few seconds, and followers learn
    them late.
    """
    own = {each.replica: max([*_ends(each, registered)], default=0) for each in summaries}
    known = {
        each.replica: max(min(end, _same_up_to(each.replica, other, comparisons)) for other, end in own.items())
        for each in summaries
    }
    at_most = {
        each.replica: uncommitted_from(each, summaries, comparisons, registered) if registered else MAX_OFFSET
        for each in summaries
    }
    return {name: Acknowledged(end, max(end, at_most[name])) for name, end in known.items()}


def _ends(summary: CopySummary, registered: Registered | None) -> Iterator[int]:
    if summary.checkpointed_high_watermark:
        yield summary.checkpointed_high_watermark
    if registered is None:
        return
    end = summary.log_end_offset
    lineage = EpochHistory(summary.lineage)
    epoch = registered.alone.get(summary.replica)
    if epoch is not None:
        yield min(end, lineage.end_offset_for(epoch, end).end_offset)
    known = {entry.epoch for entry in summary.lineage}
    for read in registered.read_to:
        if read.leader_epoch in known:
            yield min(read.offset, lineage.end_offset_for(read.leader_epoch, end).end_offset)


def _same_up_to(replica: str, other: str, comparisons: Comparisons) -> int:
    """Return from where on two copies are not the same log, or are not known to be."""
    if replica == other:
        return MAX_OFFSET
    comparison = comparisons.get(frozenset((replica, other)))
    return comparison.parted_at if comparison else 0
