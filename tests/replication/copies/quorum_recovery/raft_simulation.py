"""A quorum as Raft has it, without time and network: elections, writes and fetches in any order that the rules allow.

Nodes crash, are out of each other's reach, snapshot their logs and drop what is before; voters come and go one at a
time (KIP-853), if the quorum is dynamic. What is committed is noted as the leader learns of it, and never changes.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Entry(NamedTuple):
    """A record: who was the leader when it was written, and what it says."""

    epoch: int
    value: int
    voters: tuple[int, ...] | None = None
    """Of a change of voters."""


@dataclass
class Node:
    """A controller's disk, and what it has in memory."""

    id: int
    log: list[Entry] = field(default_factory=list)
    """From offset 0 on, what it has dropped included."""
    start: int = 0
    """Before it there is a snapshot only."""
    snapshots: list[int] = field(default_factory=list)
    """Their end offsets."""
    epoch: int = 0
    voted: int | None = None
    high_watermark: int = 0
    led_from: int | None = None
    """Where its epoch starts in its log, while it leads."""
    fetched: dict[int, int] = field(default_factory=dict)
    """How far it knows the others to be, while it leads."""

    @property
    def end(self) -> int:
        return len(self.log)

    @property
    def last_epoch(self) -> int:
        return self.log[-1].epoch if self.log else 0

    @property
    def position(self) -> tuple[int, int]:
        return self.last_epoch, self.end

    def step_down(self, epoch: int) -> None:
        """Take note of a later epoch."""
        self.epoch, self.voted, self.led_from = epoch, None, None
        self.fetched.clear()


class Quorum:
    """Some nodes, of which the first are voters at the beginning."""

    def __init__(self, chance: random.Random, voters: int, *, is_dynamic: bool = False) -> None:
        self.chance = chance
        self.is_dynamic = is_dynamic
        self.first_voters = tuple(range(voters))
        self.nodes = [Node(number) for number in range(voters + (2 if is_dynamic else 1))]
        """The last ones are observers."""
        self.apart: set[int] = set()
        """Those that do not reach the others, only each other."""
        self.committed: list[Entry] = []
        self._values = 0

    def run(self, steps: int) -> None:
        """Do something so often."""
        doings = (
            [self.elect]
            + [self.write] * 4
            + [self.fetch] * 8
            + [self.crash, self.snapshot, self.part, self.part_from_leader]
        )
        if self.is_dynamic:
            doings.append(self.change_voters)
        for _ in range(steps):
            self.chance.choice(doings)()

    def voters_of(self, node: Node) -> tuple[int, ...]:
        """Who has a vote by a node's log."""
        return next((entry.voters for entry in reversed(node.log) if entry.voters is not None), self.first_voters)

    def elect(self) -> None:
        """Have a node ask some of the voters for their votes."""
        candidate = self.chance.choice(self.nodes)
        voters = self.voters_of(candidate)
        if candidate.id not in voters:
            return
        candidate.step_down(candidate.epoch + 1)
        candidate.voted = candidate.id
        reached = [number for number in voters if self._reach(candidate.id, number) and self.chance.random() < 0.9]
        votes = {candidate.id} | {number for number in reached if self._votes(self.nodes[number], candidate)}
        if len(votes) > len(voters) // 2:
            candidate.led_from = candidate.end
            self.append(candidate)

    def write(self) -> None:
        """Have a leader append, whether anybody still follows it or not."""
        for leader in self._leaders():
            for _ in range(self.chance.choice((1, 1, 1, 8))):
                self.append(leader)

    def fetch(self) -> None:
        """Have a node follow a leader for one fetch."""
        follower = self.chance.choice(self.nodes)
        leaders = [leader for leader in self._leaders() if self._reach(follower.id, leader.id)]
        if not leaders:
            return
        leader = self.chance.choice(leaders)
        if follower is leader or follower.epoch > leader.epoch:
            return
        if follower.epoch < leader.epoch:
            follower.step_down(leader.epoch)
        common = common_end(leader.log, follower.log)
        if common < follower.end:
            assert common >= follower.high_watermark, "what is committed is never truncated"
            del follower.log[common:]
        if follower.end < leader.start:
            end = leader.snapshots[-1]
            follower.log = leader.log[:end]
            follower.start, follower.snapshots, follower.high_watermark = end, [end], end
            return
        leader.fetched[follower.id] = follower.end
        self.advance(leader)
        follower.high_watermark = max(follower.high_watermark, min(leader.high_watermark, follower.end))
        follower.log += leader.log[follower.end : follower.end + self.chance.randrange(4)]

    def part(self) -> None:
        """Have the network fall apart in two, or become one again."""
        numbers = [node.id for node in self.nodes]
        self.apart = set(self.chance.sample(numbers, self.chance.choice((0, 1, 1, 2))))

    def part_from_leader(self) -> None:
        """Have a leader go on that nobody reaches any more."""
        leaders = self._leaders()
        if leaders:
            leader = self.chance.choice(leaders)
            self.apart = {leader.id}
            for _ in range(self.chance.randrange(5, 30)):
                self.append(leader)

    def crash(self) -> None:
        """Have a node start again from its disk, to which everything was flushed."""
        node = self.chance.choice(self.nodes)
        node.led_from, node.high_watermark = None, max(node.snapshots, default=0)
        node.fetched.clear()

    def snapshot(self) -> None:
        """Have a node write a snapshot of what it knows to be committed, and maybe drop the log before an older one."""
        node = self.chance.choice(self.nodes)
        if node.high_watermark > max(node.snapshots, default=0):
            node.snapshots.append(node.high_watermark)
        if len(node.snapshots) > 1 and self.chance.random() < 0.5:
            node.start = self.chance.choice(node.snapshots)
            node.snapshots = [each for each in node.snapshots if each >= node.start]

    def change_voters(self) -> None:
        """Have a leader add or remove a voter, once its epoch's first record and all changes before are committed."""
        for leader in self._leaders():
            voters = self.voters_of(leader)
            pending = next((n for n, entry in reversed(list(enumerate(leader.log))) if entry.voters is not None), -1)
            if leader.high_watermark <= max(pending, leader.led_from or 0):
                continue
            outside = [node.id for node in self.nodes if node.id not in voters]
            if outside and self.chance.random() < 0.5:
                changed = (*voters, self.chance.choice(outside))
            elif len(voters) > 1:
                gone = self.chance.choice(voters)
                changed = tuple(each for each in voters if each != gone)
            else:
                continue
            self.append(leader, changed)

    def append(self, leader: Node, voters: tuple[int, ...] | None = None) -> None:
        """Have a leader write a record."""
        self._values += 1
        leader.log.append(Entry(leader.epoch, self._values, voters))
        self.advance(leader)

    def advance(self, leader: Node) -> None:
        """Find out what a majority has, of the voters by the leader's own log; of its own epoch first of all."""
        voters = self.voters_of(leader)
        ends = sorted(
            (leader.end if each == leader.id else leader.fetched.get(each, 0) for each in voters), reverse=True
        )
        end = ends[len(voters) // 2]
        if end > leader.high_watermark and end > (leader.led_from or 0):
            leader.high_watermark = end
            known = min(end, len(self.committed))
            assert leader.log[:known] == self.committed[:known], "what was committed stays so"
            self.committed += leader.log[len(self.committed) : end]

    def _votes(self, voter: Node, candidate: Node) -> bool:
        if voter.epoch > candidate.epoch or (
            voter.epoch == candidate.epoch and voter.voted not in {None, candidate.id}
        ):
            return False
        if voter.epoch < candidate.epoch:
            voter.step_down(candidate.epoch)
        if candidate.position < voter.position:
            return False
        voter.voted = candidate.id
        return True

    def _reach(self, one: int, other: int) -> bool:
        return (one in self.apart) == (other in self.apart)

    def _leaders(self) -> list[Node]:
        return [node for node in self.nodes if node.led_from is not None]


def common_end(one: Sequence[Entry], other: Sequence[Entry]) -> int:
    """Up to where two logs are the same."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
