"""What happens to a cluster in a round of chaos: all decisions, drawn from a seed before anything happens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Final

REPLICAS: Final = 3
PARTITIONS: Final = 4
"""The last is compacted."""
_MOST_DOWN: Final = 2
_LONGEST_PAUSE: Final = 9.0
"""In seconds; longer than a session."""


class Action(StrEnum):
    """What is done to a node or to the cluster."""

    KILL = "kill"
    LOSE = "kill, and lose what it has not flushed,"
    STOP = "stop"
    START = "start"
    PAUSE = "pause"
    RESTART_CONTROLLER = "restart the controller"
    PAUSE_CONTROLLER = "pause the controller"
    ELECT = "elect preferred leaders"
    REASSIGN = "reassign"
    CREATE = "create"
    DELETE = "delete"
    ELECT_UNCLEAN = "elect uncleanly"


_WEIGHTS: Final = {
    Action.KILL: 4,
    Action.LOSE: 4,
    Action.STOP: 3,
    Action.START: 6,
    Action.PAUSE: 3,
    Action.RESTART_CONTROLLER: 1,
    Action.PAUSE_CONTROLLER: 1,
    Action.ELECT: 2,
    Action.REASSIGN: 4,
    Action.CREATE: 1,
    Action.DELETE: 1,
    Action.ELECT_UNCLEAN: 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happens."""

    after: float
    """Seconds since the step before."""
    action: Action
    nodes: tuple[int, ...] = ()
    """Whom it happens to, or who are to have replicas; of an unclean election the leader that loses, and who wins."""
    seconds: float = 0.0
    """For how long something stands still, or is down."""
    number: int = 0
    """Of the partition or the topic."""

    def __str__(self) -> str:
        told = [str(self.action), *map(str, self.nodes)]
        if self.action in {Action.REASSIGN, Action.CREATE, Action.DELETE}:
            told.append(f"(number {self.number})")
        if self.seconds:
            told.append(f"for {self.seconds:.1f} s")
        return " ".join(told)


@dataclass(frozen=True, slots=True)
class Schedule:
    """One round."""

    replicas: tuple[tuple[int, ...], ...]
    """Of each partition that is written to."""
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"replicas {self.replicas}; {'; '.join(map(str, self.steps))}"


def draw(random: Random, brokers: Sequence[int], ours: Sequence[int], count: int, *, loses: bool = False) -> Schedule:
    """Draw a round of so many steps, in which ours are no rarer than all others together.

    What ours have not flushed can be lost if `loses`: only one of them loses it, as they may be all that was in sync.
    """
    return _Drawing(random, brokers, ours, loses).draw(count)


@dataclass
class _Drawing:
    random: Random
    brokers: Sequence[int]
    ours: Sequence[int]
    loses: bool
    """Whether what was not flushed may be lost: no more once one replica of a topic may be in sync alone."""
    down: set[int] = field(default_factory=set)
    made: list[int] = field(default_factory=list)
    """Topics that have been created, and are to be deleted."""
    number: int = 0
    """Of topics that have been created."""
    loser: int | None = None
    """Which of ours has lost what it had not flushed."""

    def draw(self, count: int) -> Schedule:
        replicas = tuple(self._replicas(self.brokers) for _ in range(PARTITIONS))
        steps = []
        for _ in range(count):
            possible = [action for action in Action if self._is_possible(action)]
            action = self.random.choices(possible, [_WEIGHTS[each] for each in possible])[0]
            steps.append(self._step(action))
        return Schedule(replicas, tuple(steps))

    @property
    def _up(self) -> list[int]:
        return [broker for broker in self.brokers if broker not in self.down]

    @property
    def _may_lose(self) -> list[int]:
        return [broker for broker in self._up if broker in self.ours and self.loser in {None, broker}]

    def _is_possible(self, action: Action) -> bool:
        if action in {Action.KILL, Action.STOP}:
            return len(self.down) < _MOST_DOWN
        if action is Action.LOSE:
            return self.loses and len(self.down) < _MOST_DOWN and bool(self._may_lose)
        if action is Action.ELECT_UNCLEAN:
            return not self.down
        if action is Action.START:
            return bool(self.down)
        return action is not Action.DELETE or bool(self.made)

    def _step(self, action: Action) -> Step:
        after = self.random.uniform(0.1, 2.0)
        draw: Callable[[Action, float], Step] = {
            Action.KILL: self._end,
            Action.LOSE: self._lose,
            Action.STOP: self._end,
            Action.START: self._start,
            Action.PAUSE: self._pause,
            Action.REASSIGN: self._reassign,
            Action.CREATE: self._create,
            Action.DELETE: self._delete,
            Action.ELECT_UNCLEAN: self._elect_unclean,
        }.get(action, self._of_the_cluster)
        return draw(action, after)

    def _end(self, action: Action, after: float) -> Step:
        broker = self._one_of(self._up)
        self.down.add(broker)
        return Step(after=after, action=action, nodes=(broker,))

    def _lose(self, action: Action, after: float) -> Step:
        self.loser = broker = self.random.choice(self._may_lose)
        self.down.add(broker)
        return Step(after=after, action=action, nodes=(broker,))

    def _start(self, action: Action, after: float) -> Step:
        broker = self._one_of(sorted(self.down))
        self.down.discard(broker)
        return Step(after=after, action=action, nodes=(broker,))

    def _pause(self, action: Action, after: float) -> Step:
        seconds = self.random.uniform(0.2, self.random.choice((1.0, _LONGEST_PAUSE)))
        return Step(after=after, action=action, nodes=(self._one_of(self._up),), seconds=seconds)

    def _of_the_cluster(self, action: Action, after: float) -> Step:
        seconds = 0.0 if action is Action.ELECT else self.random.uniform(0.2, 3.0)
        return Step(after=after, action=action, seconds=seconds)

    def _reassign(self, action: Action, after: float) -> Step:
        nodes = self._replicas(self.brokers)
        return Step(after=after, action=action, nodes=nodes, number=self.random.randrange(PARTITIONS))

    def _create(self, action: Action, after: float) -> Step:
        self.number += 1
        self.made.append(self.number)
        nodes = self._replicas(self._up)
        return Step(after=after, action=action, nodes=nodes, number=self.number)

    def _delete(self, action: Action, after: float) -> Step:
        number = self.made.pop(self.random.randrange(len(self.made)))
        return Step(after=after, action=action, number=number)

    def _elect_unclean(self, action: Action, after: float) -> Step:
        """One of the two is ours at least, and the leader that loses is down afterwards."""
        mine = self.random.choice(self.ours)
        pair = [mine, self.random.choice([broker for broker in self.brokers if broker != mine])]
        self.random.shuffle(pair)
        self.number += 1
        self.loses = False
        self.down.add(pair[0])
        return Step(after=after, action=action, nodes=tuple(pair), number=self.number)

    def _one_of(self, brokers: Sequence[int]) -> int:
        ours = [broker for broker in brokers if broker in self.ours]
        return self.random.choice(ours if ours and self.random.random() < 0.5 else brokers)

    def _replicas(self, brokers: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.random.sample(brokers, min(REPLICAS, len(brokers))))
