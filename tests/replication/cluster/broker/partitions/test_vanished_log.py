"""Which replicas without a log must have had one, by the metadata alone: held against histories of a partition."""

from collections.abc import Iterable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cluster.broker.partitions.lost_replica import has_vanished, is_counted_on
from replication.records.codec.fields import NO_ID
from replication.records.leadership.broker_event import BrokerEvent, Terms
from replication.records.leadership.partition_change import ChangedFields, Election, Target, partition_change
from replication.records.leadership.rules import Rules
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import MIGRATING_DIRECTORY, NO_LEADER, PartitionChangeRecord

ME, ALL = 1, (1, 2, 3)


class History:
    """A partition of which the controller's decisions are real, and each log is the number of its records."""

    def __init__(self, replicas: tuple[int, ...], dead: Iterable[int], terms: Terms) -> None:
        """Make it: the controller takes the dead for alive."""
        self.terms: Final = terms
        self.active = set(replicas)
        """Who may lead, as the controller knows."""
        self.up = set(replicas).difference(dead)
        self.logs = dict.fromkeys(self.up, 0)
        self.whole = set(replicas)
        """Whose root has its checkpoint files, whether they speak of the partition or not."""
        self.missed: set[int] = set()
        """Who has found that its log is gone."""
        self.told = 0
        self.committed = 0
        self.state = PartitionRegistration(
            replicas=replicas,
            isr=replicas,
            leader=replicas[0],
            directories=tuple(MIGRATING_DIRECTORY for _ in replicas),
        )

    def leads(self) -> bool:
        """Whether somebody serves it."""
        return self.state.leader in self.up & self.logs.keys() and self.state.leader in self.active

    def write(self) -> None:
        """With acks=all."""
        isr = self.state.isr
        if self.leads() and len(isr) >= self.terms.min_isr and self.up.issuperset(isr) and all(map(self._has, isr)):
            self.committed = self.logs[self.state.leader] + 1
            self.logs.update(dict.fromkeys(isr, self.committed))

    def _has(self, broker: int) -> bool:
        return broker in self.logs

    def catch_up(self, broker: int) -> None:
        if self.leads() and broker in self.active and broker in self.up & self.logs.keys() - set(self.state.isr):
            self.logs[broker] = self.logs[self.state.leader]
            self._change(self._decided(Target(isr=(*self.state.isr, broker))))

    def go_down(self, broker: int) -> None:
        """And the controller notices."""
        self.up.discard(broker)
        self._happen(BrokerEvent(leaving=broker))

    def lose_root(self, broker: int) -> None:
        """All but the marker and the file that has the directory's id."""
        if broker not in self.up:
            self.logs.pop(broker, None)
            self.whole.discard(broker)

    def come_up(self, broker: int) -> None:
        if broker in self.up:
            return
        self.up.add(broker)
        has_all = broker in self.whole and broker not in self.missed
        self._happen(BrokerEvent.restart(broker, clean=has_all, rules=self.terms.rules))
        if broker not in self.logs:
            self._begin(broker)
        self.whole.add(broker)
        if broker not in self.missed or len(self.state.replicas) == 1:
            self._happen(BrokerEvent(joining=broker))

    def _begin(self, broker: int) -> None:
        if broker not in self.whole and has_vanished(broker, self.state):
            self.told += 1
            self.missed.add(broker)
        elif broker not in self.missed:
            self.logs[broker] = 0

    def _happen(self, event: BrokerEvent) -> None:
        self.active = event.active_after(self.active)
        if event.concerns(self.state):
            self._change(event.change(self.state, self.active.__contains__, self.terms, lambda _: MIGRATING_DIRECTORY))
        for broker in self.missed & self.up:
            if self.state.has_leader and not is_counted_on(broker, self.state):
                self.missed.discard(broker)
                self.logs[broker] = 0
                self.active.add(broker)

    def _decided(self, target: Target) -> ChangedFields:
        rules, min_isr = self.terms.rules, self.terms.min_isr
        return partition_change(self.state, self.active.__contains__, target=target, rules=rules, min_isr=min_isr)

    def _change(self, fields: ChangedFields) -> None:
        if fields:
            self.state = self.state.changed(PartitionChangeRecord(partition_id=0, topic_id=NO_ID, **fields))


@st.composite
def histories(draw: st.DrawFn, *, loses: bool = True, replicas: int = len(ALL)) -> History:
    """Rounds in which brokers go down, lose their roots, and come up: nobody ever leads who lacks what is committed."""
    here = ALL[:replicas]
    some, orders = st.sets(st.sampled_from(here)), st.lists(st.sampled_from(here), unique=True)
    rules = Rules(elr=draw(st.booleans()), last_known_leader=draw(st.booleans()))
    dead = draw(st.just(set[int]()) | some)
    history = History(here, dead, Terms(Election.ONLINE, rules, draw(st.integers(1, 2))))
    for _ in range(draw(st.integers(1, 4))):
        history.write()
        for broker in draw(st.permutations(here) | orders):
            history.go_down(broker)
            history.write()
        for broker in draw(some) if loses else ():
            history.lose_root(broker)
        for broker in draw(orders):
            history.come_up(broker)
            assert not history.leads() or history.logs[history.state.leader] >= history.committed
        for broker in draw(orders):
            history.catch_up(broker)
    return history


@given(st.sampled_from([1, len(ALL)]).flatmap(lambda replicas: histories(replicas=replicas)))
def test_nobody_leads_with_less_than_is_committed(history: History) -> None:
    assert not history.leads() or history.logs[history.state.leader] >= history.committed


@given(st.sampled_from([1, len(ALL)]).flatmap(lambda replicas: histories(replicas=replicas, loses=False)))
def test_where_nothing_is_lost_all_begin_whose_log_was_never_made(history: History) -> None:
    assert not history.told
    assert not history.missed


@given(
    isr=st.sets(st.sampled_from(ALL)),
    leader=st.sampled_from([NO_LEADER, *ALL]),
    epoch=st.integers(0, 3),
)
def test_who_is_not_counted_on_begins(isr: set[int], leader: int, epoch: int) -> None:
    """As one that is being added, or was made while its broker was known to be down."""
    state = PartitionRegistration(
        replicas=ALL, isr=tuple(sorted(isr)), leader=leader, leader_epoch=epoch, adding_replicas=(ME,)
    )
    if ME not in isr and leader != ME:
        assert not has_vanished(ME, state)


@pytest.mark.parametrize("replicas", [(ME,), ALL])
def test_one_that_is_as_it_was_made_begins(replicas: tuple[int, ...]) -> None:
    state = PartitionRegistration(replicas=replicas, isr=replicas, leader=ME)
    assert not has_vanished(ME, state)
