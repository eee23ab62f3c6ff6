"""Links that are cut, slow, and whole again."""

import time
from collections.abc import Callable
from threading import Thread

import pytest

from replication.testing import CLIENT, CONTROLLER, Cluster, Links
from replication.testing.links import LinkState


def test_a_cut_holds_in_both_directions_and_for_no_other_link() -> None:
    links = Links()
    links.cut(1, 2)
    assert links.is_cut(1, 2)
    assert links.is_cut(2, 1)
    assert not links.is_cut(1, 3)
    assert not links.is_cut(1, CONTROLLER)


def test_all_links_are_healed_or_those_of_some_nodes() -> None:
    links = Links()
    links.cut(1, 2)
    links.cut(3, CONTROLLER)
    links.heal([3])
    assert links.is_cut(1, 2)
    assert not links.is_cut(3, CONTROLLER)
    links.cut(2, 3)
    links.mend(3, 2)
    assert links.is_cut(1, 2)
    assert not links.is_cut(2, 3)
    links.heal()
    assert not links.is_cut(1, 2)


def test_a_paused_node_reaches_nobody() -> None:
    links = Links()
    links.pause(1)
    assert links.is_cut(1, 2)
    assert links.is_cut(CONTROLLER, 1)
    links.resume(1)
    assert not links.is_cut(1, 2)


def test_what_waits_for_a_paused_node_goes_on_when_it_is_resumed() -> None:
    links = Links()
    links.pause(1)
    waiting = Thread(target=links.wait_while_paused, args=(1,))
    waiting.start()
    waiting.join(0.02)
    assert waiting.is_alive()
    links.resume(1)
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_slow_link_takes_its_time_and_passes_on() -> None:
    links, began = Links(), time.monotonic()
    links.delay(1, 2, 0.05)
    assert links.pass_on(2, 1)
    assert time.monotonic() - began >= 0.05
    links.heal()
    links.cut(1, 2)
    assert not links.pass_on(1, 2)


def test_the_state_of_links_is_the_same_in_another_process() -> None:
    links = Links()
    links.cut(1, CONTROLLER)
    links.delay(1, 2, 0.5)
    links.pause(3)
    assert LinkState.from_json(links.state.as_json()) == links.state


def test_who_watches_is_told_of_each_change_before_the_call_returns() -> None:
    links, told = Links(), list[LinkState]()
    links.watch(told.append)
    links.cut(1, 2)
    links.heal()
    links.heal()
    assert [len(state.cut) for state in told] == [1, 0, 0]


@pytest.mark.parametrize(
    "ask", [lambda links: links.cut(1, 2), lambda links: links.delay(1, 2, 0.1), lambda links: links.pause(1)]
)
def test_links_of_a_cluster_that_is_closed_are_only_restored(ask: Callable[[Links], object]) -> None:
    with Cluster(brokers=1) as cluster:
        links = cluster.links
    cluster.close()
    with pytest.raises(ValueError, match="the cluster is closed"):
        ask(links)
    links.heal()
    links.resume(1)


STRANGE: list[Callable[[Links], object]] = [
    lambda links: links.cut(1, 3),
    lambda links: links.cut(1, CLIENT),
    lambda links: links.cut(1, 1),
    lambda links: links.mend(CONTROLLER, 3),
    lambda links: links.delay(3, 1, 0.1),
    lambda links: links.delay(1, 2, -0.1),
    lambda links: links.pause(3),
    lambda links: links.resume(3),
    lambda links: links.heal([1, 3]),
]


@pytest.mark.parametrize("ask", STRANGE)
def test_what_would_make_no_difference_is_refused(ask: Callable[[Links], object]) -> None:
    links = Links([CONTROLLER, 1, 2])
    with pytest.raises(ValueError, match=r"node|link"):
        ask(links)
    assert links.state == LinkState()
