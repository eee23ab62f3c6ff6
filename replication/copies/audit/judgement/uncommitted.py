"""From where on nothing of a copy was ever committed: at most what lies below was acknowledged with acks=all.

A leader commits a record, and acknowledges it with acks=all, once all that are in sync have it. So whoever was in sync
then has it, unless its machine lost it, or an unclean election. What a leader wrote beyond, it acknowledged by itself,
with acks=1, or not at all.
"""

from collections.abc import Iterable, Mapping, Sequence

from epoch.history import MAX_OFFSET
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.snapshots.registered import Registered

Comparisons = Mapping[frozenset[str], Comparison]


def uncommitted_from(
    summary: CopySummary, summaries: Sequence[CopySummary], comparisons: Comparisons, registered: Registered
) -> int:
    """Return the offset; MAX_OFFSET where nothing shows it."""
    begins = _begins(summaries)
    complete = [each for each in summaries if each.replica in registered.complete and _is_sound(each)]
    ends = [min(each.log_end_offset, _parted_at(summary.replica, each.replica, comparisons)) for each in complete]
    found = end = MAX_OFFSET
    # What a leader wrote behind what was committed is committed too: so from the log's end back.
    for epoch, start in reversed(summary.lineage):
        succession = registered.succession(epoch)
        if succession is None:
            break
        bounds = [begin for other, begin in begins.items() if epoch < other <= succession.last]
        bounds += ends if succession == registered.latest_succession else []
        begin = max(start, min(bounds, default=MAX_OFFSET))
        if begin >= end:
            break
        found = end = begin
        if begin > start:
            break
    return found


def _parted_at(replica: str, other: str, comparisons: Comparisons) -> int:
    comparison = comparisons.get(frozenset((replica, other)))
    return comparison.parted_at if comparison else MAX_OFFSET


def _begins(summaries: Iterable[CopySummary]) -> dict[int, int]:
    """Return where each leader epoch began, or later, as logs show of which the cleaner has removed a beginning."""
    begins: dict[int, int] = {}
    for summary in filter(_is_sound, summaries):
        for epoch, start in {*summary.lineage, *summary.checkpointed_epochs}:
            begins[epoch] = max(start, begins.get(epoch, start))
    return begins


def _is_sound(summary: CopySummary) -> bool:
    return not (summary.errors or summary.unread or summary.damage or summary.is_stray or summary.is_dropped)
