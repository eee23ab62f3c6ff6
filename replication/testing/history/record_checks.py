"""Anomalies of single records: lost, changed, doubled, or seen by those who must not see them."""

from collections.abc import Iterator

import numpy as np

from replication.testing.history.anomaly import AnomalyKind, Found
from replication.testing.history.history import FAILED, NONE, OK, Column
from replication.testing.history.versions import Mask, Versions, entries, first_rows, places


def record_anomalies(versions: Versions) -> Iterator[Found]:
    """Yield what is wrong with single records, by kind."""
    yield from _sightings(versions)
    yield from _reads(versions)
    yield _lost(versions)
    yield _unseen(versions)
    yield _fractured(versions)


def _sightings(versions: Versions) -> Iterator[Found]:
    history = versions.history
    sent, polled = history.sent, history.polled
    rows = np.flatnonzero(versions.acknowledged)
    operation = np.concatenate((sent.operation[rows], polled.operation))
    partition = np.concatenate((sent.partition[rows], polled.partition))
    offset = np.concatenate((sent.offset[rows], polled.offset))
    value = np.concatenate((sent.value[rows], polled.value))
    for kind, keys, told in (
        (AnomalyKind.INCONSISTENT_OFFSETS, places(partition, offset), value),
        (AnomalyKind.DUPLICATE, value, offset),
    ):
        first, other = _contradictions(keys, told)
        shown = np.stack((operation[first], operation[other]), axis=1)
        yield Found(kind, shown, partition[first], offset[first], value[first])


def _contradictions(keys: Column, told: Column) -> tuple[Column, Column]:
    """Return the rows of what was first told of a key, and of the first thing told of it that differs."""
    first = first_rows(keys, int(keys.max(initial=NONE)) + 1)
    others = np.flatnonzero(told != told[first[keys]])
    _, once = np.unique(keys[others], return_index=True)
    return first[keys[others[once]]], others[once]


def _reads(versions: Versions) -> Iterator[Found]:
    history = versions.history
    polled = history.polled
    sender = entries(history.sent.operation, versions.sender)
    for kind, chosen in (
        (AnomalyKind.UNSENT_READ, sender == NONE),
        (AnomalyKind.ABORTED_READ, entries(history.outcome, sender) == FAILED),
        (AnomalyKind.PRECOMMITTED_READ, sender == polled.operation),
    ):
        rows = np.flatnonzero(chosen)
        shown = np.stack((sender[rows], polled.operation[rows]), axis=1)
        yield Found(kind, shown, polled.partition[rows], polled.offset[rows], polled.value[rows])


def _lost(versions: Versions) -> Found:
    sent = versions.history.sent
    rows = np.flatnonzero(versions.acknowledged & versions.passed)
    shown = np.stack((sent.operation[rows], versions.readers(versions.furthest[sent.partition[rows]])), axis=1)
    return Found(AnomalyKind.LOST_WRITE, shown, sent.partition[rows], sent.offset[rows], sent.value[rows])


def _unseen(versions: Versions) -> Found:
    sent = versions.history.sent
    answered = versions.history.outcome[sent.operation] == OK
    rows = np.flatnonzero(answered & (versions.reader == NONE) & ~versions.passed)
    shown = sent.operation[rows, None]
    return Found(AnomalyKind.UNSEEN, shown, sent.partition[rows], sent.offset[rows], sent.value[rows])


def _fractured(versions: Versions) -> Found:
    """Find transactions of which one record was read, and another passed over."""
    history = versions.history
    sent = history.sent
    read = _first_chosen(versions, versions.reader != NONE)
    gone = _first_chosen(versions, versions.passed)
    operation = np.flatnonzero((read != NONE) & (gone != NONE))
    missing = gone[operation]
    reads = versions.readers(versions.reader[read[operation]])
    beyond = versions.readers(versions.furthest[sent.partition[missing]])
    shown = np.stack((operation, reads, beyond), axis=1)
    kind = AnomalyKind.FRACTURED_TRANSACTION
    return Found(kind, shown, sent.partition[missing], sent.offset[missing], sent.value[missing])


def _first_chosen(versions: Versions, chosen: Mask) -> Column:
    """Return the first chosen row of each operation that did not fail, or -1."""
    operation = versions.history.sent.operation
    rows = np.flatnonzero(chosen & versions.may_count[operation])
    return entries(rows, first_rows(operation[rows], len(versions.history)))
