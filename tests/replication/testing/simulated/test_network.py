from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from replication.testing.simulated.network import Network, NetworkFaults, Reply
from replication.testing.simulated.process import Process
from replication.testing.simulated.simulated_channel import SimulatedChannel
from replication.testing.simulated.timeline import Timeline
from replication.testing.simulated.trace import Trace

CLIENT, SERVER, TIMEOUT = 1, 2, 500


class Echo:
    """Answers each request with itself, and remembers when it came."""

    def __init__(self, world: "World") -> None:
        self.process = Process(world.timeline)
        self.served: list[tuple[int, Any]] = []
        self._world = world

    def serve(self, request: Any, reply: Reply) -> None:
        self.served.append((self._world.timeline.now_ms, request))
        reply(request)


class World:
    """One client, and one server."""

    def __init__(self, faults: NetworkFaults, seed: int = 0) -> None:
        self.timeline = Timeline()
        self.network = Network(self.timeline, Random(seed), faults, Trace(lambda: self.timeline.now_ms))
        self.server = self.network.servers[SERVER] = Echo(self)
        self.client = Process(self.timeline)
        self.answers: list[Any] = []
        self.failures: list[str] = []

    def channel(self, *, arrives_late: bool = False) -> SimulatedChannel:
        return SimulatedChannel(
            self.network, self.client, (CLIENT, SERVER), timeout_ms=TIMEOUT, arrives_late=arrives_late
        )

    def ask(self, channel: SimulatedChannel, request: Any) -> None:
        channel.ask(request, self.answers.append, self.failures.append)

    def run(self, milliseconds: int) -> None:
        end = self.timeline.now_ms + milliseconds
        while (do := self.timeline.next_until(end)) is not None:
            do()


@pytest.mark.parametrize("seed", range(20))
def test_what_one_connection_carries_arrives_in_order(seed: int) -> None:
    world = World(NetworkFaults(late=0.3, longest_late_ms=300), seed)
    channel = world.channel()
    for number in range(10):
        world.ask(channel, number)
    world.run(TIMEOUT)
    assert [request for _, request in world.server.served] == list(range(10))
    assert world.answers == list(range(len(world.answers)))


def test_two_connections_overtake_each_other() -> None:
    orders = set()
    for seed in range(20):
        world = World(NetworkFaults(longest_delay_ms=40), seed)
        for number in range(3):
            world.ask(world.channel(), number)
        world.run(TIMEOUT)
        orders.add(tuple(request for _, request in world.server.served))
    assert len(orders) > 1


@pytest.mark.parametrize("lost", [0.3, 1.0])
def test_who_is_not_answered_learns_it_by_a_time_out_and_connects_anew(lost: float) -> None:
    world = World(NetworkFaults(lost=lost))
    channel = world.channel()
    for number in range(20):
        world.ask(channel, number)
        world.run(TIMEOUT)
    assert len(world.answers) + len(world.failures) == 20
    assert set(world.failures) == {"no answer has come in time"}
    assert bool(world.answers) == (lost < 1.0)


@pytest.mark.parametrize("arrives_late", [False, True])
def test_only_on_some_connections_a_request_arrives_after_it_was_given_up(arrives_late: bool) -> None:
    late = NetworkFaults(late=1.0, longest_delay_ms=TIMEOUT + 1, longest_late_ms=TIMEOUT + 1)
    world = World(late)
    world.ask(world.channel(arrives_late=arrives_late), "late")
    world.run(2 * TIMEOUT)
    assert world.failures == ["no answer has come in time"]
    assert [request for _, request in world.server.served] == ["late"] * arrives_late
    assert world.answers == []


def _cut(world: World) -> None:
    world.network.cut(CLIENT, SERVER)


def _end(world: World) -> None:
    world.server.process.end()
    world.network.lose_server(SERVER)


@pytest.mark.parametrize(("happens", "reason"), [(_cut, "no answer has come in time"), (_end, "nobody answers there")])
def test_nothing_arrives_over_a_cut_or_at_a_server_that_has_ended(
    happens: Callable[[World], None], reason: str
) -> None:
    world = World(NetworkFaults())
    world.ask(world.channel(), "before")
    happens(world)
    world.run(TIMEOUT)
    assert (world.server.served, world.answers, world.failures) == ([], [], [reason])


def test_an_answer_over_a_mended_cut_is_given() -> None:
    world = World(NetworkFaults())
    world.network.cut(CLIENT, SERVER)
    world.network.mend(CLIENT, SERVER)
    world.ask(world.channel(), "after")
    world.run(TIMEOUT)
    assert world.answers == ["after"]
