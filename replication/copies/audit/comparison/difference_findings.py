"""What comparisons of copies find, about the copy that is the odd one out."""

from collections import Counter
from collections.abc import Iterator, Sequence

from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Reporter
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.copy_summary import CopySummary, OffsetRange
from replication.copies.audit.replica_finding import ReplicaFinding

MOST_FINDINGS = 100
"""Of one kind about one copy: what has more is one finding that says so."""


def odd_replicas(comparisons: Sequence[Comparison]) -> set[str]:
    """Name the replicas that diverge from more others than the rest do; all that diverge where none stands out."""
    diverging = Counter(replica for each in comparisons if each.divergences for replica in (each.left, each.right))
    most = max(diverging.values(), default=0)
    return {replica for replica, count in diverging.items() if count == most}


def difference_findings(
    partition: TopicPartition, summaries: Sequence[CopySummary], comparisons: Sequence[Comparison]
) -> tuple[ReplicaFinding, ...]:
    """Report diverging records, and offsets that are missing where no file's own damage has shown it already."""
    report = Reporter(partition)
    found = [*_divergences(report, comparisons)]
    damaged = {summary.replica for summary in summaries if summary.log_errors}
    found += _missing(report, comparisons, damaged)
    return tuple(found)


def _divergences(report: Reporter, comparisons: Sequence[Comparison]) -> Iterator[ReplicaFinding]:
    told: set[tuple[str, int, int]] = set()
    odd = odd_replicas(comparisons)
    for comparison in comparisons:
        for divergence in comparison.divergences[:MOST_FINDINGS]:
            sides = (
                (comparison.left, divergence.left_file, divergence.left_position, comparison.right),
                (comparison.right, divergence.right_file, divergence.right_position, comparison.left),
            )
            for replica, file, position, other in sides:
                place = replica, divergence.first_offset, divergence.last_offset
                if replica not in odd or place in told:
                    continue
                told.add(place)
                yield ReplicaFinding(
                    replica,
                    report.error(
                        "silent-divergence",
                        f"the records at offsets {divergence.first_offset}..{divergence.last_offset} differ from those "
                        f"of {other} although both have leader epoch {divergence.leader_epoch} and all checksums "
                        "match: no truncation will ever repair that; compare them with `epochlog dump --records`, and "
                        "take the partition from the replica that is right",
                        file=file,
                        position=position,
                        offset=divergence.first_offset,
                    ),
                )


def _missing(report: Reporter, comparisons: Sequence[Comparison], damaged: set[str]) -> Iterator[ReplicaFinding]:
    told: set[tuple[str, OffsetRange]] = set()
    for comparison in comparisons:
        sides = (
            (comparison.left, comparison.missing_left, comparison.right),
            (comparison.right, comparison.missing_right, comparison.left),
        )
        for replica, ranges, other in sides:
            for lacking in ranges[:MOST_FINDINGS]:
                if replica in damaged or (replica, lacking) in told:
                    continue
                told.add((replica, lacking))
                yield ReplicaFinding(
                    replica,
                    report.error(
                        "offsets-missing",
                        f"offsets {lacking.first}..{lacking.last} are not there, but {other} has them, and the cleaner "
                        "cannot have removed them: they are lost on this replica; take the partition from another one",
                        file=None,
                        offset=lacking.first,
                    ),
                )
