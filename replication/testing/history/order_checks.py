"""Anomalies of order: what one client was given, or was told of its own records, one after the other."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from replication.testing.history.anomaly import AnomalyKind, Found
from replication.testing.history.history import FAILED, NONE, Column, History, Records
from replication.testing.history.versions import Mask, Versions, entries, first_rows, places


class _Steps(NamedTuple):
    """Rows of two records that one process met one after the other in one partition."""

    before: Column
    after: Column

    def where(self, chosen: Mask) -> "_Steps":
        return _Steps(self.before[chosen], self.after[chosen])


def order_anomalies(versions: Versions) -> Iterator[Found]:
    """Yield what is wrong with the order in which processes read and sent, by kind."""
    history = versions.history
    polled, sent = history.polled, history.sent
    reads = _steps(history, polled, np.arange(len(polled)), history.assigned)
    back = reads.where(polled.offset[reads.after] <= polled.offset[reads.before])
    yield from _found(polled, back, AnomalyKind.INT_NONMONOTONIC_POLL, AnomalyKind.NONMONOTONIC_POLL)
    sends = _steps(history, sent, np.flatnonzero(versions.acknowledged), np.zeros_like(history.assigned))
    back = sends.where(sent.offset[sends.after] <= sent.offset[sends.before])
    yield from _found(sent, back, AnomalyKind.INT_NONMONOTONIC_SEND, AnomalyKind.NONMONOTONIC_SEND)
    yield from _skips(versions, reads)
    yield _intermediate(versions, reads)


def _steps(history: History, records: Records, rows: Column, begins_anew: Column) -> _Steps:
    """Return each of these records with the next of them of its process and partition, unless that begins anew."""
    by_process = np.argsort(history.process, kind="stable")
    era = np.empty(len(history), dtype=np.int64)
    era[by_process] = np.cumsum(begins_anew[by_process])
    run = np.repeat(np.arange(len(records.run_end)), records.run_end - records.run_start)[rows]
    first = np.flatnonzero(np.diff(run, prepend=NONE))
    last = np.append(first, len(run))[1:] - 1
    operation, partition = records.run_operation[run[first]], records.run_partition[run[first]]
    process, era = history.process[operation], era[operation]
    order = np.lexsort((partition, process))
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for column in (process, partition, era):
        same &= column[order[1:]] == column[order[:-1]]
    across = rows[last[order[:-1][same]]], rows[first[order[1:][same]]]
    within = np.flatnonzero(run[1:] == run[:-1])
    return _Steps(np.append(rows[within], across[0]), np.append(rows[within + 1], across[1]))


def _found(
    records: Records, steps: _Steps, within: AnomalyKind, across: AnomalyKind, shown: Column | None = None
) -> Iterator[Found]:
    """Yield steps that are wrong, shown by their operations and perhaps by one more."""
    before, after = records.operation[steps.before], records.operation[steps.after]
    operations = np.stack([before, after] + ([] if shown is None else [shown]), axis=1)
    for kind, chosen in ((within, before == after), (across, before != after)):
        rows = steps.after[chosen]
        yield Found(kind, operations[chosen], records.partition[rows], records.offset[rows], records.value[rows])


def _skips(versions: Versions, steps: _Steps) -> Iterator[Found]:
    """Find steps over what somebody read, but for what failed, which only readers of uncommitted records are given."""
    history = versions.history
    sent, polled = history.sent, history.polled
    place = places(polled.partition, polled.offset)
    outcome = entries(history.outcome, entries(sent.operation, versions.sender))
    counts = np.flatnonzero(outcome != FAILED)
    first = first_rows(place[counts], int(place.max(initial=NONE)) + 1)
    rows = counts[first[first != NONE]]
    upto = np.cumsum(first != NONE)
    passed, reached = upto[place[steps.before]], upto[place[steps.after] - 1]
    ahead = (place[steps.after] > place[steps.before]) & (reached > passed)
    between = polled.operation[rows[passed[ahead]]]
    yield from _found(polled, steps.where(ahead), AnomalyKind.INT_POLL_SKIP, AnomalyKind.POLL_SKIP, between)


def _intermediate(versions: Versions, steps: _Steps) -> Found:
    """Find steps from a record of a transaction over the next one of it."""
    sent, polled, offset = versions.history.sent, versions.history.polled, versions.offset
    skipped = entries(_following(versions), versions.sender[steps.before])
    place = entries(offset, skipped)
    over = (skipped != NONE) & (place > polled.offset[steps.before]) & (place < polled.offset[steps.after])
    (before, after), skipped = steps.where(over), skipped[over]
    learned = np.where(sent.offset[skipped] >= 0, NONE, versions.readers(versions.reader[skipped]))
    shown = (sent.operation[skipped], polled.operation[before], polled.operation[after], learned)
    kind = AnomalyKind.INTERMEDIATE_READ
    return Found(kind, np.stack(shown, axis=1), sent.partition[skipped], offset[skipped], sent.value[skipped])


def _following(versions: Versions) -> Column:
    """Return, by sent record, the row of the next one of its transaction in the partition, or -1."""
    sent, offset = versions.history.sent, versions.offset
    rows = np.flatnonzero((offset >= 0) & versions.may_count[sent.operation])
    rows = rows[np.lexsort((offset[rows], sent.partition[rows], sent.operation[rows]))]
    one, other = rows[:-1], rows[1:]
    same = (sent.operation[one] == sent.operation[other]) & (sent.partition[one] == sent.partition[other])
    following = np.full(len(sent), NONE)
    following[one[same]] = other[same]
    return following
