"""A group through random lives of its members: what must hold in each moment, and that nobody waits for ever."""

import random
from math import inf
from typing import Any

from replication.cluster.broker.groups.awaited import Awaited
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.groups.group_state import GroupState
from replication.cluster.broker.groups.joining import JoinAnswer, JoinRequest
from replication.cluster.broker.groups.syncing import SyncAnswer, SyncRequest
from replication.wire.error_code import ErrorCode
from tests.campaign import Campaign
from tests.replication.cluster.broker.groups.sides import FakeClock

GROUP = "g"
CAMPAIGN = Campaign("groups: random lives of members", full=20_000, share=2_000)
CLIENTS = 4
STEPS = 60
MAX_SIZE = 3
PROTOCOLS = [("range",), ("range", "sticky"), ("sticky", "range"), ("sticky",)]
TIMEOUTS = [0.0, 0.5, 1.0, 7.0, 60.0]


class Client:
    """What one client knows, and what it waits for."""

    def __init__(self, number: int) -> None:
        self.instance_id = f"static-{number}" if number % 3 == 0 else None
        self.member_id = ""
        self.generation = -1
        self.leader = ""
        self.members: tuple[str, ...] = ()
        self.join: Awaited[JoinAnswer] | None = None
        self.sync: Awaited[SyncAnswer] | None = None
        self.assignment: bytes | None = None

    @property
    def is_waiting(self) -> bool:
        return self.join is not None or self.sync is not None

    def look(self) -> None:
        """Take what it was told."""
        if self.join is not None and self.join.value is not None:
            self._take(self.join.value)
            self.join = None
        if self.sync is not None and self.sync.value is not None:
            told, self.sync = self.sync.value, None
            self.assignment = told.assignment if told.error_code is ErrorCode.NONE else None
            if told.error_code in {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}:
                self.member_id = ""

    def _take(self, told: JoinAnswer) -> None:
        self.assignment = None
        if told.error_code in {ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED}:
            self.member_id = told.member_id
            self.generation, self.leader = told.generation_id, told.leader
            self.members = tuple(member.member_id for member in told.members)
        elif told.error_code is not ErrorCode.REBALANCE_IN_PROGRESS:
            self.member_id, self.generation = "", -1


class Life:
    """Members join, synchronise, are heard of, leave and die, while time passes."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        delay = rng.choice([0.0, 3.0])
        self.clock = FakeClock()
        self.settings = GroupSettings(initial_rebalance_delay=delay, max_size=MAX_SIZE)
        self.coordinator = GroupCoordinator(self.settings, clock=self.clock)
        self.clients = [Client(number) for number in range(CLIENTS)]
        self.generation = 0

    def run(self) -> None:
        """Some steps, then silence."""
        steps = [self.joins] * 4 + [self.syncs] * 4 + [self.is_heard_of, self.leaves, self.dies, self.time_passes]
        for _ in range(STEPS):
            self.rng.choice(steps)(self.rng.randrange(CLIENTS))
            self.what_was_told_holds_together()
            self.an_assignment_is_its_leader_s_of_the_generation()
            self.memory_is_counted()
        self.all_answers_come_by_deadlines_alone()

    def joins(self, number: int) -> None:
        client, rng = self.clients[number], self.rng
        if client.is_waiting:
            return
        offered = tuple((name, b"data") for name in rng.choice(PROTOCOLS))
        client.join = self.coordinator.join(
            JoinRequest(
                GROUP,
                client.member_id,
                10.0 + number,
                rng.choice(TIMEOUTS),
                "consumer",
                offered,
                client.instance_id,
                asks_for_id=rng.random() < 0.5,
                can_skip_assignment=rng.random() < 0.5,
            )
        )

    def syncs(self, number: int) -> None:
        client = self.clients[number]
        if client.is_waiting or not client.member_id:
            return
        leads = client.leader == client.member_id
        assignments = {each: f"{client.generation} {each}".encode() for each in client.members} if leads else {}
        request = SyncRequest(GROUP, client.generation, client.member_id, client.instance_id, assignments=assignments)
        client.sync = self.coordinator.sync(request)

    def is_heard_of(self, number: int) -> None:
        client = self.clients[number]
        if client.member_id and not client.is_waiting:
            self.coordinator.heartbeat(GROUP, client.generation, client.member_id, client.instance_id)

    def leaves(self, number: int) -> None:
        client = self.clients[number]
        if client.member_id:
            self.coordinator.leave(GROUP, [(client.member_id, client.instance_id)])

    def dies(self, number: int) -> None:
        self.clients[number] = Client(number)

    def time_passes(self, _: int) -> None:
        self.clock.now += self.rng.choice([0.1, 1.0, 5.0, 20.0])
        self.coordinator.expire(GROUP)

    def all_answers_come_by_deadlines_alone(self) -> None:
        """Nobody else does anything: each deadline is later than the one before, until all are answered."""
        for _ in range(100):
            for client in self.clients:
                client.look()
            if not any(client.is_waiting for client in self.clients):
                return
            deadline = self.coordinator.deadline(GROUP)
            assert self.clock.now <= deadline < inf
            self.clock.now = deadline
            self.coordinator.expire(GROUP)
        raise AssertionError("somebody still waits")

    def what_was_told_holds_together(self) -> None:
        for client in self.clients:
            client.look()
        group: Any = self.coordinator._groups.get(GROUP)
        if group is None:
            return
        assert group.generation >= self.generation
        self.generation = group.generation
        assert sum(member.joining is not None for member in group.members.values()) <= MAX_SIZE
        assert (group.state is GroupState.EMPTY) <= (not group.members)
        assert group.members.leader in {*group.members} or not group.members
        assert set(group.members.static_ids.values()) <= set(group.members)
        if group.state in {GroupState.COMPLETING_REBALANCE, GroupState.STABLE}:
            assert group.members
            assert all(group._protocol in member.protocol_names for member in group.members.values())
        if group.state is GroupState.STABLE:
            assert not any(member.is_awaiting for member in group.members.values())

    def an_assignment_is_its_leader_s_of_the_generation(self) -> None:
        for client in self.clients:
            if client.assignment:
                generation, _ = client.assignment.split(b" ", 1)
                assert int(generation) == client.generation

    def memory_is_counted(self) -> None:
        groups = self.coordinator._groups.values()
        assert self.coordinator.size == sum(group.size for group in groups)
        for group in groups:
            assert group.members.size == sum(member.size for member in group.members.values())


def test_what_members_are_told_holds_together_and_nobody_waits_for_ever() -> None:
    generations = 0
    for number in range(CAMPAIGN.count):
        life = Life(random.Random(f"{CAMPAIGN.seed} {number}"))
        life.run()
        generations += life.generation
    CAMPAIGN.report(CAMPAIGN.count, f"{generations:,} generations")
    assert generations > 2 * CAMPAIGN.count
