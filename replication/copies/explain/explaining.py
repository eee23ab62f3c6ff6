"""Why an offset of a partition is not there."""

from collections.abc import Sequence
from pathlib import Path

from logstore.topic_partition import TopicPartition, parse_directory_name
from replication.copies.explain.explanation import Explanation
from replication.copies.explain.sources import Sources
from replication.copies.planning.failures import OnError, stop


def explain(
    partition: TopicPartition | str,
    copies: Sequence[str | Path],
    *,
    start: int = 0,
    end: int | None = None,
    least_end: int = 0,
    leader: str | None = None,
    is_compacted: bool = False,
    committed_only: bool = True,
    has_remote: bool | None = None,
    on_error: OnError = stop,
) -> Explanation:
    """Explain what became of each offset of a partition from `start` up to, not including, `end`.

    `copies` are log.dirs roots, directories that hold a broker's several roots or a partition, a mirror's copy, or what
    `mirror --keep-truncated` kept; `partition` may be the name of its directory. Explained is the log of `leader`, the
    name of a copy's directory or its node.id; by default of the copy with the latest leader epoch, of several the
    longest. Without an `end`, all offsets are explained that any copy has or speaks of, and those below `least_end`.

    `is_compacted` says that the topic is compacted, which gaps between batches alone do not show. With `committed_only`
    a consumer is not given what was aborted, nor anything from the first open transaction on. `has_remote` says
    whether the topic has remote storage; by default the metadata that lies beside the copies does. `on_error` decides
    whether a copy that cannot be read is left out, or a file beside it, such as a checkpoint.

    Raises NoSuchPartitionError, UnknownLeaderError, InvalidDirectoryNameError for a name that is none, what
    `replication.planning.open_replicas` raises of single copies, and OSError.

    >>> explanation = explain("orders-0", ["broker-1", "broker-2"])
    >>> for each in explanation.of(Why.MISSING):
    ...     print(each.first_offset, each.last_offset, each.evidence)
    """
    named = parse_directory_name(partition).topic_partition if isinstance(partition, str) else partition
    return Sources.open([Path(each) for each in copies]).explain(
        named,
        start=start,
        end=end,
        least_end=least_end,
        leader=leader,
        is_compacted=is_compacted,
        committed_only=committed_only,
        has_remote=has_remote,
        on_error=on_error,
    )
