"""Circles in a graph: those that are there, in parts that were not walked for nothing."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replication.testing.history.cycles import components, path

Edge = tuple[int, int]


def parts(edges: list[Edge]) -> list[list[int]]:
    source, target = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return sorted(sorted(each) for each in components(source, target))


def reachable(edges: list[Edge], start: int) -> set[int]:
    found, waiting = set[int](), [start]
    while waiting:
        node = waiting.pop()
        more = {to for frm, to in edges if frm == node} - found
        found |= more
        waiting += more
    return found


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30))
def test_parts_are_the_nodes_that_reach_each_other(edges: list[Edge]) -> None:
    edges = [(frm, to) for frm, to in edges if frm != to]
    reach = {node: reachable(edges, node) for edge in edges for node in edge}
    expected = {
        tuple(sorted(other for other in reach if other in reach[node] and node in reach[other])) for node in reach
    }
    assert parts(edges) == sorted(map(list, expected - {()}))


def test_a_part_has_the_edges_within_it() -> None:
    (part,) = components(np.array([0, 1, 2, 1, 5]), np.array([1, 2, 0, 3, 6]))
    assert part == {0: [1], 1: [2], 2: [0]}
    assert path(part, 1, 0) == [1, 2, 0]
    assert path(part, 2, 9) == []


def test_circles_far_apart_in_a_long_history_are_found_each() -> None:
    random = Random(7)
    forward = [(node, node + random.randint(1, 50)) for node in range(100_000)]
    circles = [(start + 40, start) for start in range(0, 90_000, 9_000)]
    chain = [(start + step, start + step + 1) for start in range(0, 90_000, 9_000) for step in range(40)]
    found = parts(forward + circles + chain)
    assert [each[0] for each in found] == list(range(0, 90_000, 9_000))
    assert all(len(each) >= 41 for each in found)


def test_a_chain_of_any_length_has_no_circle() -> None:
    nodes = np.random.default_rng(3).permutation(200_000)
    assert parts([*zip(nodes.tolist(), nodes[1:].tolist(), strict=False)]) == []
