"""Anomalies of transactions together: circles of who read, or wrote behind, whose records."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from replication.testing.history.anomaly import AnomalyKind, Found
from replication.testing.history.cycles import Graph, components, path
from replication.testing.history.history import NONE, Column
from replication.testing.history.versions import Mask, Versions, first_rows, places

_Edges = tuple[Column, Column]


def cycle_anomalies(versions: Versions) -> Iterator[Found]:
    """Yield a shortest circle of each set of operations that are in circles, by kind."""
    history = versions.history
    sends = np.zeros(len(history), dtype=np.bool_)
    reads = np.zeros(len(history), dtype=np.bool_)
    sends[history.sent.run_operation] = reads[history.polled.run_operation] = True
    flow = _flow(versions, sends & reads & versions.may_count)
    order = _order(versions, flow)
    yield _found(versions, AnomalyKind.CIRCULAR_INFORMATION_FLOW, [_cycle(each) for each in components(*flow)])
    yield _found(versions, AnomalyKind.WRITE_CYCLE, [_cycle(each) for each in components(*order)])
    together = np.append(flow[0], order[0]), np.append(flow[1], order[1])
    mixed = (_mixed_cycle(each, flow, order) for each in components(*together))
    yield _found(versions, AnomalyKind.CIRCULAR_FLOW_WITH_WRITES, [each for each in mixed if each])


def _in_several(versions: Versions) -> Mask:
    """By operation: it did not fail, and sent to two partitions or more."""
    sent, count = versions.history.sent, len(versions.history)
    first = first_rows(sent.run_operation, count)
    differ = sent.run_partition != sent.run_partition[first[sent.run_operation]]
    found = np.zeros(count, dtype=np.bool_)
    found[sent.run_operation[differ]] = True
    return found & versions.may_count


def _flow(versions: Versions, both: Mask) -> _Edges:
    """Return who sent and who read it, of those readers that sent something too: others are in no circle."""
    history = versions.history
    rows = np.flatnonzero((versions.sender != NONE) & both[history.polled.operation])
    source, target = history.sent.operation[versions.sender[rows]], history.polled.operation[rows]
    counts = versions.may_count[source]
    return _distinct(source[counts], target[counts])


def _order(versions: Versions, flow: _Edges) -> _Edges:
    """Return whose record lies before whose in a partition, of those that can be in a circle, each with the next.

    Where two lie at one offset, which is an anomaly of its own, the first counts.
    """
    sent, offset, nodes = versions.history.sent, versions.offset, _in_several(versions)
    nodes[np.append(*flow)] = True
    rows = np.flatnonzero((offset >= 0) & nodes[sent.operation])
    rows = rows[np.lexsort((offset[rows], sent.partition[rows]))]
    rows = rows[np.diff(places(sent.partition[rows], offset[rows]), prepend=NONE) != 0]
    before, after = rows[:-1], rows[1:]
    same = sent.partition[before] == sent.partition[after]
    return _distinct(sent.operation[before[same]], sent.operation[after[same]])


def _distinct(source: Column, target: Column) -> _Edges:
    differ = source != target
    edges = np.unique(np.stack((source[differ], target[differ]), axis=1), axis=0)
    return edges[:, 0], edges[:, 1]


def _cycle(graph: Graph) -> list[int]:
    """Return a shortest circle among those through one node."""
    start = min(graph)
    return min((path(graph, other, start) for other in graph[start]), key=len)


def _mixed_cycle(graph: Graph, flow: _Edges, order: _Edges) -> list[int]:
    """Return a short circle that has edges of both kinds, empty where none is seen."""
    of_order = set(zip(*(column.tolist() for column in order), strict=True))
    for source, target in zip(*(column.tolist() for column in flow), strict=True):
        if source not in graph or target not in graph:
            continue
        back = path(graph, target, source)
        if any(step in of_order for step in pairwise(back)):
            return back
    return []


def _found(versions: Versions, kind: AnomalyKind, cycles: list[list[int]]) -> Found:
    """Put circles into columns, with the reads by which offsets are known that no answer said."""
    rows = [cycle + _learned_from(versions, cycle) for cycle in cycles]
    widest = max(map(len, rows), default=0)
    table = [row + [NONE] * (widest - len(row)) for row in rows]
    return Found(kind, np.array(table, dtype=np.int64).reshape(len(rows), widest))


def _learned_from(versions: Versions, cycle: list[int]) -> list[int]:
    sent = versions.history.sent
    rows = np.flatnonzero(np.isin(sent.operation, cycle) & (sent.offset < 0) & (versions.reader != NONE))
    readers: list[int] = versions.readers(versions.reader[rows]).tolist()
    return readers
