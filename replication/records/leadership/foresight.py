"""Whom a cluster's controller elects once its brokers start again, from its metadata: nobody is asked.

What happens to a broker is what happens in a cluster. A controller that becomes active waits for the brokers that are
not fenced by its metadata, and fences those of whom it hears nothing, in the order that `fencing_order` returns. A
broker that starts registers, which takes it out of the ISRs, and out of the ELRs where it has not stopped cleanly; it
serves once it is unfenced, and then leads what nobody leads, where it may. One that starts beside the controller may
register before it is fenced, and so in another turn. On a new disk it makes an empty log, says where that lies before
it serves or after, and may lead from then on. All this is decided by the controller's own rules.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple, Self
from uuid import UUID

from logstore.files.clean_shutdown import UNKNOWN_BROKER_EPOCH, CleanShutdown
from logstore.files.partition_metadata import parse_uuid
from logstore.topic_partition import TopicPartition
from replication.records.codec.fields import NO_ID
from replication.records.leadership.broker_event import BrokerEvent, Terms
from replication.records.leadership.fencing_order import fencing_turns
from replication.records.leadership.foreseen_election import ForeseenElection, ForeseenElections, StartOrder
from replication.records.leadership.partition_change import Election
from replication.records.leadership.reason import Reason
from replication.records.leadership.rules import rules_of
from replication.records.leadership.topic_settings import TopicSettings
from replication.records.leadership.working_directory import has_working_copy
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import UNASSIGNED_DIRECTORY, PartitionChangeRecord

_MOST_ORDERED: Final = 5
"""Replicas of a partition of which all orders of starts are listed; of more, those that leave the same are so once."""


class StartingBroker(NamedTuple):
    """A broker that is about to start, as its files show."""

    id: int
    clean_epoch: int = UNKNOWN_BROKER_EPOCH
    """Its broker epoch when it stopped cleanly, by `.kafka_cleanshutdown`; -1 where it did not, or no file says so."""
    directories: tuple[UUID, ...] = ()
    """The ids of its log directories; empty where they have none, or are not known."""

    @classmethod
    def of(cls, broker_id: int, roots: Iterable[tuple[str | None, CleanShutdown | None]]) -> Self:
        """Create it from the id of each log directory and its `.kafka_cleanshutdown`, None where there is no such file.

        It stopped cleanly where all of them agree in which epoch that was.
        """
        ids, stops = zip(*roots, strict=True)
        epochs = {UNKNOWN_BROKER_EPOCH if stop is None else stop.broker_epoch for stop in stops}
        clean_epoch = epochs.pop() if len(epochs) == 1 else UNKNOWN_BROKER_EPOCH
        return cls(broker_id, clean_epoch, tuple(sorted(parse_uuid(each) for each in ids if each is not None)))


class _Phase(IntEnum):
    """How far a broker is, each step after the one before."""

    REMEMBERED = 0
    """It is down, and not yet fenced by the metadata: the controller takes it for alive."""
    DOWN = 1
    REGISTERED = 2
    SERVING = 3


class _Story(NamedTuple):
    """A partition on the way, and its replicas' phases, in the order of the assignment."""

    partition: PartitionRegistration
    phases: tuple[_Phase, ...]

    @property
    def remembered(self) -> list[int]:
        """The numbers of the replicas that are not fenced yet."""
        return [number for number, phase in enumerate(self.phases) if phase is _Phase.REMEMBERED]

    @property
    def is_decided(self) -> bool:
        """Whether somebody leads who runs: nothing that happens to the others changes that."""
        leader = self.partition.leader
        return self.partition.has_leader and self.phases[self.partition.replicas.index(leader)] is _Phase.SERVING


class Foresight:
    """Foresees the elections of a cluster whose brokers are all down.

    >>> foresight = Foresight(image, [StartingBroker(1), StartingBroker(2, clean_epoch=17)])
    >>> foresight.of(TopicPartition("orders", 0)).together
    """

    def __init__(
        self,
        image: ClusterImage,
        starting: Iterable[StartingBroker],
        *,
        own_settings: Mapping[str, str] = MappingProxyType({}),
        controller: int | None = None,
    ) -> None:
        """`image` is what the metadata says, `starting` the brokers whose directories are at hand.

        `own_settings` are those in the controllers' files of properties, `controller` is the id of the one that will be
        active, where that is known: it may have settings of its own in the metadata.
        """
        self._image = image
        self._starting = {each.id: each for each in starting}
        self._settings = TopicSettings(image.configurations, own_settings, controller)
        self._rules = rules_of(image.metadata_version, image.features, as_kafka=True)
        self._turns = fencing_turns(image.brokers.values(), image.metadata_version)
        self._known: dict[tuple[PartitionRegistration, Terms], ForeseenElections] = {}

    def of(self, partition: TopicPartition) -> ForeseenElections | None:
        """Return what is foreseen of a partition; None where the metadata has none of that name."""
        topic = self._image.topics.by_name.get(partition.topic)
        state = topic.partitions.get(partition.partition) if topic else None
        if topic is None or state is None:
            return None
        terms = self._settings.terms(topic, self._rules)
        # Of partitions that differ in their epochs alone the elections are the same.
        alike = replace(state, leader_epoch=0, partition_epoch=0)
        found = self._known.get((alike, terms))
        if found is None:
            found = self._known[alike, terms] = self._foresee(alike, terms)
        return replace(
            found,
            state=state,
            min_isr=self._settings.min_isr(topic),
            together=_later(found.together, state.leader_epoch),
            orders=_all_later(found.orders, state.leader_epoch),
            forced=_all_later(found.forced, state.leader_epoch),
        )

    def _foresee(self, state: PartitionRegistration, terms: Terms) -> ForeseenElections:
        starts = _Starts(terms, [self._replica(each) for each in state.replicas])
        begin = starts.begin(state)
        given_up = starts.ends([begin], ()).undecided
        starting = tuple(each for each in state.replicas if each in self._starting)
        orders = starts.orders(given_up, starting, is_each=len(starting) <= _MOST_ORDERED)
        known = {*state.isr, *state.elr}
        return ForeseenElections(
            state,
            unclean_allowed=terms.election is Election.UNCLEAN,
            min_isr=terms.min_isr,
            has_elr=terms.rules.elr,
            together=starts.ends([begin], starting).elections(),
            orders=tuple(sorted(orders, key=lambda each: len(each.started))),
            forced=tuple(starts.forced(given_up, starting)),
            absent=tuple(each for each in state.replicas if each in known and each not in self._starting),
        )

    def _replica(self, broker_id: int) -> "_Replica":
        registered = self._image.brokers.get(broker_id)
        starting = self._starting.get(broker_id)
        turn = self._turns.get(broker_id, 0)
        if starting is None:
            return _Replica(broker_id, registered, turn, is_clean=False, directories=())
        before = registered.directories if registered else ()
        told = starting.directories if self._rules.directories else ()
        # A broker of which a disk is missing does not say that it stopped cleanly.
        is_clean = registered is not None and registered.epoch == starting.clean_epoch
        is_whole = not told or set(before) <= set(told)
        return _Replica(broker_id, registered, turn, is_clean and is_whole, told or before)


@dataclass(frozen=True, slots=True)
class _Replica:
    """What is known of one replica's broker."""

    id: int
    registered: BrokerRegistration | None
    turn: int
    """When it is fenced, if the metadata takes it for alive."""
    is_clean: bool
    directories: tuple[UUID, ...]
    """Those that will work once it runs."""

    def begins_anew(self, partition: PartitionRegistration) -> bool:
        """Whether its broker comes with another disk than the one that has the partition: it makes an empty log."""
        return bool(self.directories) and not has_working_copy(partition, self.id, self.directories)

    def placed(self, partition: PartitionRegistration) -> PartitionRegistration:
        """Return the partition once the broker has said where the empty log lies."""
        known = zip(partition.replicas, partition.directories, strict=True)
        named = tuple(self.directories[0] if replica == self.id else directory for replica, directory in known)
        return replace(partition, directories=named, partition_epoch=partition.partition_epoch + 1)

    def is_active(self, phase: _Phase) -> bool:
        if phase is _Phase.REMEMBERED:
            return self.registered is not None and self.registered.is_active
        return phase is _Phase.SERVING

    def working(self, phase: _Phase) -> tuple[UUID, ...]:
        if phase is _Phase.REMEMBERED:
            return self.registered.directories if self.registered else ()
        return self.directories


class _Ends:
    """How stories have ended: with a leader, or with nobody so far."""

    def __init__(self) -> None:
        self.undecided: set[_Story] = set()
        self._decided: dict[tuple[int, Reason], set[PartitionRegistration]] = {}

    @property
    def is_decided(self) -> bool:
        """Whether any story has ended with a leader."""
        return bool(self._decided)

    def decide(self, reason: Reason, partition: PartitionRegistration) -> None:
        """Add a partition that has a leader."""
        self._decided.setdefault((partition.leader, reason), set()).add(partition)

    def elections(self) -> tuple[ForeseenElection, ...]:
        """Return what is foreseen, in the order of the brokers' ids; that nobody leads comes last."""
        decided = [_election(*key, self._decided[key]) for key in sorted(self._decided)]
        nobody = [_election(None, Reason.NOBODY, {each.partition for each in self.undecided})] if self.undecided else []
        return (*decided, *nobody)


class _Starts:
    """The ways on which a partition gets a leader while brokers start."""

    def __init__(self, terms: Terms, replicas: Sequence[_Replica]) -> None:
        self._terms = terms
        self._replicas = replicas

    def begin(self, partition: PartitionRegistration) -> _Story:
        """Return where all begins: no broker runs, and those of which the metadata does not know it count as alive."""
        fenced = [each.registered is None or each.registered.fenced for each in self._replicas]
        return _Story(partition, tuple(_Phase.DOWN if each else _Phase.REMEMBERED for each in fenced))

    def ends(self, stories: Iterable[_Story], starting: Sequence[int]) -> _Ends:
        """Follow stories until somebody leads, or these brokers serve and all others are fenced, in each order."""
        ends = _Ends()
        ahead = [*stories]
        seen = set(ahead)
        while ahead:
            story = ahead.pop()
            successors = [*self._successors(story, starting)]
            if not successors:
                ends.undecided.add(story)
            for after in successors:
                if after.is_decided:
                    ends.decide(_reason(story.partition, after.partition.leader), after.partition)
                elif after not in seen:
                    seen.add(after)
                    ahead.append(after)
        return ends

    def forced(self, stories: Iterable[_Story], starting: Sequence[int]) -> Iterator[StartOrder]:
        """Give the sets of brokers that run once nobody led before the last of them started, the smallest first.

        An unclean election is asked for then, where nobody leads. Each set stands in one order of starts, unless others
        leave something else.
        """
        ahead: deque[tuple[tuple[int, ...], frozenset[_Story]]] = deque([((), frozenset(stories))])
        seen: set[tuple[frozenset[int], tuple[ForeseenElection, ...], frozenset[_Story]]] = set()
        while ahead:
            started, left = ahead.popleft()
            for each in starting:
                if each in started:
                    continue
                ends, order = self.ends(left, (each,)), (*started, each)
                is_led, undecided = ends.is_decided, frozenset(ends.undecided)
                asked = StartOrder(order, self._asked(ends).elections())
                what = frozenset(order), asked.elections, undecided
                if what in seen:
                    continue
                seen.add(what)
                yield asked
                if not is_led:
                    ahead.append((order, undecided))

    def _asked(self, ends: _Ends) -> _Ends:
        """Return the ends once the controller has elected leaders uncleanly for partitions without one."""
        for story in [*ends.undecided]:
            after = self._changed(story, story.phases, self._terms._replace(election=Election.UNCLEAN), BrokerEvent())
            if after.is_decided:
                ends.undecided.discard(story)
                ends.decide(_reason(story.partition, after.partition.leader), after.partition)
        return ends

    def orders(self, stories: Iterable[_Story], starting: Sequence[int], *, is_each: bool) -> Iterator[StartOrder]:
        """Give the orders of starts, one after the other, that end with a leader.

        Unless `is_each` is asked for, brokers that have started before are followed in one order alone, where they
        leave the same in others: so there are no more ways than sets of brokers, mostly.
        """
        ahead: list[tuple[tuple[int, ...], frozenset[_Story]]] = [((), frozenset(stories))]
        seen: set[tuple[frozenset[int], frozenset[_Story]]] = set()
        while ahead:
            started, left = ahead.pop()
            for each in starting:
                if each in started:
                    continue
                ends, order = self.ends(left, (each,)), (*started, each)
                if ends.is_decided:
                    yield StartOrder(order, ends.elections())
                after = frozenset(order), frozenset(ends.undecided)
                if ends.undecided and (is_each or after not in seen):
                    seen.add(after)
                    ahead.append((order, after[1]))

    def _successors(self, story: _Story, starting: Sequence[int]) -> Iterator[_Story]:
        """Give what may come next: any replica's next step, and none where nothing more happens."""
        first = min((self._replicas[number].turn for number in story.remembered), default=0)
        for number, (replica, phase) in enumerate(zip(self._replicas, story.phases, strict=True)):
            if phase is _Phase.REMEMBERED and replica.turn == first:
                yield self._moved(story, number, _Phase.DOWN)
            if phase < _Phase.REGISTERED and replica.id in starting:
                # One that is remembered may do so once its session has run out, before it is fenced.
                yield self._moved(story, number, _Phase.REGISTERED)
            if phase is _Phase.REGISTERED and replica.id in starting:
                yield self._moved(story, number, _Phase.SERVING)
            if phase >= _Phase.REGISTERED and replica.begins_anew(story.partition):
                yield story._replace(partition=replica.placed(story.partition))

    def _moved(self, story: _Story, number: int, phase: _Phase) -> _Story:
        replica = self._replicas[number]
        phases = (*story.phases[:number], phase, *story.phases[number + 1 :])
        match phase:
            case _Phase.DOWN:
                event = BrokerEvent(leaving=replica.id)
            case _Phase.REGISTERED:
                event = BrokerEvent.restart(replica.id, clean=replica.is_clean, rules=self._terms.rules)
            case _:
                event = BrokerEvent(joining=replica.id)
        if not event.concerns(story.partition):
            return _Story(story.partition, phases)
        return self._changed(story, phases, self._terms, event)

    def _changed(self, story: _Story, phases: tuple[_Phase, ...], terms: Terms, event: BrokerEvent) -> _Story:
        may_lead = self._may_lead(story.partition, phases)
        changed = event.change(story.partition, may_lead, terms, lambda _: UNASSIGNED_DIRECTORY)
        if not changed:
            return _Story(story.partition, phases)
        record = PartitionChangeRecord(partition_id=0, topic_id=NO_ID, **changed)
        return _Story(story.partition.changed(record), phases)

    def _may_lead(self, partition: PartitionRegistration, phases: Sequence[_Phase]) -> Callable[[int], bool]:
        may_lead = {
            replica.id
            for replica, phase in zip(self._replicas, phases, strict=True)
            if replica.is_active(phase) and has_working_copy(partition, replica.id, replica.working(phase))
        }
        return may_lead.__contains__


def _reason(before: PartitionRegistration, leader: int) -> Reason:
    """Return why a broker was elected, by the partition as it was before."""
    if leader in before.isr:
        return Reason.IN_SYNC
    if leader in before.elr:
        return Reason.ELIGIBLE
    return Reason.LAST_KNOWN_LEADER if before.last_known_elr == (leader,) else Reason.UNCLEAN


def _election(leader: int | None, reason: Reason, partitions: Iterable[PartitionRegistration]) -> ForeseenElection:
    """Put together what ends alike; of the ISRs and ELRs the one of the lowest epoch is returned."""
    first, *_ = ordered = sorted(partitions, key=lambda each: (each.leader_epoch, each.isr, each.elr))
    epochs = tuple(dict.fromkeys(each.leader_epoch for each in ordered))
    return ForeseenElection(leader, reason, epochs, first.isr, first.elr)


def _all_later(orders: Iterable[StartOrder], epochs: int) -> tuple[StartOrder, ...]:
    return tuple(StartOrder(each.started, _later(each.elections, epochs)) for each in orders)


def _later(elections: Iterable[ForeseenElection], epochs: int) -> tuple[ForeseenElection, ...]:
    return tuple(replace(each, epochs=tuple(epoch + epochs for epoch in each.epochs)) for each in elections)
