"""Where reads of logs end now, for the next read to go on from there."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Final

from epoch.history import MAX_OFFSET
from replication.base.errors import NotAllowedError
from replication.copies.audit.log_rows.chosen_logs import ensure_names_known, listed_copies
from replication.copies.audit.log_rows.listed_copy import ListedCopy
from replication.copies.audit.log_rows.options.range_options import RANGES, TIMES_BY_PARTITION
from replication.copies.audit.log_rows.options.read_end import NO_EPOCH, ReadEnd
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from replication.copies.audit.log_rows.read_ends.log_heads import LogHeads, opened_heads
from replication.copies.audit.log_rows.transaction_outcomes import TransactionOutcomes
from replication.copies.audit.snapshots.work import ByteRange, Copy

_BOUNDS: Final = frozenset(name.lower() for name in (*RANGES, *TIMES_BY_PARTITION))


def ending_offsets(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]], options: Mapping[str, str] | None = None
) -> str:
    """Return where a read of the latest offsets ends now, as JSON: an offset and a leader epoch by partition.

    The topic's id stands beside them where the copy has it. `paths` and `options` are those of a read with `kafka-log`,
    of one copy of each partition; what bounds its offsets or times counts for nothing. With `isolation` of
    `read_committed` it ends where the first transaction begins that is still open. The text is the `endingOffsets` of
    this read, and the `startingOffsets` of the next one: that ends with LogTruncatedError where the log was truncated
    in between, or its topic created again. Raises NotAllowedError where a partition has several copies, and what a read
    raises.

    >>> end = ending_offsets("/backup/broker-1", {"topics": "orders"})
    """
    several = [paths] if isinstance(paths, str | PathLike) else list(paths)
    asked = {name: value for name, value in (options or {}).items() if name.lower() not in _BOUNDS}
    chosen = SourceOptions.of({"rows": "records", **asked, "paths": json.dumps([fspath(each) for each in several])})
    ends: defaultdict[str, dict[str, Mapping[str, int | str]]] = defaultdict(dict)
    for copy in _one_of_each(chosen):
        topic, partition = copy.topic_partition
        ends[topic][str(partition)] = _end_of(copy, is_committed=chosen.is_committed).to_json()
    return json.dumps(ends, sort_keys=True)


def _one_of_each(chosen: SourceOptions) -> list[Copy]:
    copies = listed_copies(chosen)
    ensure_names_known(chosen, copies)
    found: dict[str, Copy] = {}
    for copy in filter(chosen.selection.wants, copies):
        other = found.setdefault(str(copy.topic_partition), copy)
        if other is not copy:
            raise NotAllowedError(
                f"the copies of {copy.topic_partition}",
                [other.replica, copy.replica],
                "one; name it by option replicas",
            )
    return list(found.values())


def _end_of(copy: Copy, *, is_committed: bool) -> ReadEnd:
    with opened_heads(copy, None if is_committed else MAX_OFFSET) as heads:
        end = _end_before(heads, MAX_OFFSET)._replace(topic_id=heads.topic_id)
        begun = _begun(copy, heads) if is_committed else MAX_OFFSET
        return end if begun >= end.offset else _end_before(heads, begun)._replace(offset=begun, topic_id=end.topic_id)


def _end_before(heads: LogHeads, offset: int) -> ReadEnd:
    """Return where the batches end that begin below an offset; behind them a segment may have begun."""
    last = heads.before(offset)
    rolled = max((segment.base_offset for segment in heads.segments), default=0)
    return ReadEnd(max(last.last_offset + 1 if last else 0, rolled), last.leader_epoch if last else NO_EPOCH)


def _begun(copy: Copy, heads: LogHeads) -> int:
    """Return where the first transaction begins that is open; beyond all offsets without one."""
    ranges = tuple(ByteRange(segment.base_offset, 0, segment.size) for segment in copy.segments)
    if not ranges:
        return MAX_OFFSET
    logs = ListedCopy.of(copy, ranges, copy.segments).logs(heads.directory)
    return TransactionOutcomes.read(logs, ranges).last_stable_offset
