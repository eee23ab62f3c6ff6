"""Cycles in a large graph that has few: found without walking through what cannot be in one."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from replication.testing.history.history import Column

Graph = Mapping[int, Sequence[int]]


def components(source: Column, target: Column) -> Iterator[dict[int, list[int]]]:
    """Yield the strongly connected parts of a graph with more than one node, each with its edges.

    A cycle has an edge to a node of a lower number or more, and lies between the ends of such edges: where numbers are
    in the order of time, these are few, and only what lies between them is walked.
    """
    back = source > target
    if not back.any():
        return
    low, high = target[back], source[back]
    order = np.argsort(low)
    low, reach = low[order], np.maximum.accumulate(high[order])
    apart = np.flatnonzero(low[1:] > reach[:-1])
    starts, ends = low[np.append(0, apart + 1)], reach[np.append(apart, len(reach) - 1)]
    part = np.searchsorted(starts, source, side="right") - 1
    inside = (part >= 0) & (source <= ends[part]) & (target >= starts[part]) & (target <= ends[part])
    graph = defaultdict[int, list[int]](list)
    for one, other in zip(source[inside].tolist(), target[inside].tolist(), strict=True):
        graph[one].append(other)
    for nodes in _strong(graph):
        if len(nodes) > 1:
            members = set(nodes)
            yield {node: [each for each in graph[node] if each in members] for node in nodes}


def path(graph: Graph, start: int, end: int) -> list[int]:
    """Return a shortest path, with both ends; empty where there is none."""
    came_from = {start: start}
    waiting = deque([start])
    while waiting and end not in came_from:
        node = waiting.popleft()
        for other in graph.get(node, ()):
            if other not in came_from:
                came_from[other] = node
                waiting.append(other)
    if end not in came_from:
        return []
    found = [end]
    while found[-1] != start:
        found.append(came_from[found[-1]])
    return found[::-1]


def _strong(graph: dict[int, list[int]]) -> Iterator[list[int]]:
    """Yield the strongly connected components (Tarjan's algorithm, without recursion)."""
    index, lowest, stack = dict[int, int](), dict[int, int](), list[int]()
    on_stack = set[int]()
    for root in list(graph):
        if root in index:
            continue
        index[root] = lowest[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(graph[root]))]
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = lowest[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(graph.get(other, ()))))
                    break
                if other in on_stack:
                    lowest[node] = min(lowest[node], index[other])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == index[node]:
                    found = _popped(stack, node)
                    on_stack.difference_update(found)
                    yield found


def _popped(stack: list[int], node: int) -> list[int]:
    found = [stack.pop()]
    while found[-1] != node:
        found.append(stack.pop())
    return found
