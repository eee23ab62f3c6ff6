"""Up to where a copy's records are known to be acknowledged: by its own high watermark, and by all else that tells."""

from collections.abc import Iterator, Mapping, Sequence

from epoch import EpochHistory
from epoch.history import MAX_OFFSET
from replication.audit.comparison.comparison import Comparison
from replication.audit.copy_summary import CopySummary
from replication.audit.snapshots.registered import Registered

Comparisons = Mapping[frozenset[str], Comparison]


def acknowledged(
    summaries: Sequence[CopySummary], comparisons: Comparisons, registered: Registered | None = None
) -> dict[str, int]:
    """Return for each copy the offset below which its records were acknowledged.

    A high watermark counts in every copy, as far as that is the same log; and what a leader wrote as the only one in
    sync was acknowledged as it was written. A high watermark that no file has, or that was reset to 0, tells nothing.
    Of what lies above nothing tells: brokers write high watermarks down every few seconds, followers learn them late,
    and with acks=1 a leader acknowledges by itself.
    """
    own = {each.replica: max([*_ends(each, registered)], default=0) for each in summaries}
    return {
        each.replica: max(min(end, _same_up_to(each.replica, other, comparisons)) for other, end in own.items())
        for each in summaries
    }


def _ends(summary: CopySummary, registered: Registered | None) -> Iterator[int]:
    if summary.checkpointed_high_watermark:
        yield summary.checkpointed_high_watermark
    epoch = registered.alone.get(summary.replica) if registered else None
    if epoch is not None:
        end = summary.log_end_offset
        yield min(end, EpochHistory(summary.lineage).end_offset_for(epoch, end).end_offset)


def _same_up_to(replica: str, other: str, comparisons: Comparisons) -> int:
    """Return from where on two copies are not the same log, or are not known to be."""
    if replica == other:
        return MAX_OFFSET
    comparison = comparisons.get(frozenset((replica, other)))
    if comparison is None:
        return 0
    forks = [comparison.fork.offset] if comparison.fork else []
    return min([*forks, *(each.first_offset for each in comparison.divergences)], default=MAX_OFFSET)
