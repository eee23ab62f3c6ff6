"""What may happen next in a cluster: each way is an event, and the cluster after it.

A question and its answer are steps apart, and so are an election and each replica's hearing of it; a fetch may reach
its leader after the follower has gone on. What one replica does is a function of that replica and remembered.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from epoch import UNDEFINED_END_OFFSET
from replication.cluster.fetcher.decisions.actions import Append
from replication.cluster.fetcher.decisions.fetch_state_machine import FetchQuestion
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.fetcher.model import controller, follower, leader
from tests.replication.cluster.fetcher.model.cluster import Cluster
from tests.replication.cluster.fetcher.model.replica import Answer, LateFetch, Record, Replica, Tracked
from tests.replication.cluster.fetcher.model.variant import Variant
from tests.replication.cluster.fetcher.model.violations import (
    Violation,
    after_acknowledging,
    after_following,
    after_writing,
)

INITIAL_EPOCH = 0


class Event(NamedTuple):
    """What happened, and to whom."""

    what: str
    replica: int
    detail: int = 0


class Successor(NamedTuple):
    """A way on, and what is wrong with it."""

    event: Event
    cluster: Cluster
    violation: Violation | None = None


class Model:
    """All that may happen in a variant."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        # One per model: the functions that they remember may be broken on purpose.
        self.agrees = cache(leader.agrees)
        self.question_of = cache(self._question_of)
        self.answered = cache(self._answered)
        self.taken = cache(self._taken)
        self.told_to_follow = cache(self._told_to_follow)
        self.told_to_lead = cache(self._told_to_lead)
        self.restarted = cache(self._restarted)

    def initial(self) -> Cluster:
        """Return a cluster whose first leader leads, is followed, and has written nothing."""
        replicas = tuple(
            Replica().but(tracked=() if number == 0 else (Tracked(INITIAL_EPOCH, -1, in_isr=True, of_this_life=True),))
            for number in range(3)
        )
        first = replicas[0].but(terms=frozenset({INITIAL_EPOCH}))
        cluster = Cluster(
            (first, replicas[1], replicas[2]), INITIAL_EPOCH, (), self.variant.records, self.variant.restarts
        )
        for number in range(3):
            cluster = self._told(cluster, number, INITIAL_EPOCH).cluster
        return cluster

    def successors(self, cluster: Cluster) -> Iterator[Successor]:
        """Yield every way on."""
        for number, replica in enumerate(cluster.replicas):
            if replica.is_down:
                yield Successor(Event("registers", number), controller.registered(cluster, number, self.variant))
                continue
            if replica.leads:
                yield from self._leading(cluster, number, replica)
            elif replica.following is not None:
                yield from self._following(cluster, number, replica)
            if replica.late is not None and self.variant.fetches_late:
                yield from self._late(cluster, number, replica.late)
            first = replica.epoch + 1 if self.variant.hears_late else max(replica.epoch + 1, cluster.epoch)
            for epoch in range(first, cluster.epoch + 1):
                yield self._told(cluster, number, epoch)
            if cluster.restarts_left:
                yield from self._crashing(cluster, number, replica)
        yield from self._elections(cluster)

    # --- leaders

    def _leading(self, cluster: Cluster, number: int, replica: Replica) -> Iterator[Successor]:
        if cluster.records_left:
            record = _fresh_record(cluster, replica)
            after = cluster.with_replicas((number, replica.written(record)))
            after = after._replace(records_left=cluster.records_left - 1)
            yield self._acknowledging(Event("writes", number), after, number, after_writing(after, number))
        if replica.epoch != cluster.epoch or self.variant.elects_uncleanly:
            return
        up_to_date = _knows_the_isr(cluster, replica.epoch)
        if not up_to_date:
            yield self._hearing_of_the_isr(cluster, number)
        for other, follows in enumerate(cluster.replicas):
            tracked = follows.tracked_by(replica.epoch)
            if tracked is not None and tracked.in_isr and tracked.end_offset < replica.end and up_to_date:
                after = controller.without(cluster, other, self.variant)
                after = _tracking(after, other, tracked._replace(in_isr=False))
                yield self._acknowledging(Event("is dropped from the ISR", other), after, number)

    def _hearing_of_the_isr(self, cluster: Cluster, number: int) -> Successor:
        epoch = cluster.replicas[number].epoch
        for other, follows in enumerate(cluster.replicas):
            tracked = follows.tracked_by(epoch)
            if tracked is not None:
                cluster = _tracking(cluster, other, tracked._replace(in_isr=follows.in_isr))
        return self._acknowledging(Event("hears of the ISR", number), cluster, number)

    def _acknowledging(
        self, event: Event, cluster: Cluster, number: int, violation: Violation | None = None
    ) -> Successor:
        """Let a leader's high watermark advance to where all of the ISR that it knows has fetched."""
        if self.variant.elects_uncleanly:
            return Successor(event, cluster, violation)
        replica = cluster.replicas[number]
        others = [each.tracked_by(replica.epoch) for each in cluster.replicas]
        ends = [tracked.end_offset for tracked in others if tracked is not None and tracked.in_isr]
        committed = min([replica.end, *ends])
        if committed <= replica.high_watermark or len(ends) + 1 < self.variant.min_isr:
            return Successor(event, cluster, violation)
        cluster = cluster.with_replicas((number, replica.committed(committed)))
        found = after_acknowledging(cluster, replica.log[:committed])
        if committed > len(cluster.acked):
            cluster = cluster._replace(acked=replica.log[:committed])
        return Successor(event, cluster, violation or found)

    # --- followers

    def _following(self, cluster: Cluster, number: int, replica: Replica) -> Iterator[Successor]:
        if replica.answer is not None:
            after = cluster.with_replicas((number, self.taken(replica)))
            has_fetched = isinstance(replica.answer.body, Append)
            yield Successor(
                Event("takes the answer", number), after, after_following(after, number, has_fetched=has_fetched)
            )
        elif self.question_of(replica) is not None:
            yield from self._asked(cluster, number, replica)

    def _asked(self, cluster: Cluster, number: int, replica: Replica) -> Iterator[Successor]:
        at, broker = _broker_of(cluster, replica.epoch)
        if broker is None:
            return
        error = leader.refusal(broker, replica.epoch, fences=self.variant.fences)
        if error is not ErrorCode.NONE:
            # An error changes nothing, or makes the follower wait: to delay it is to delay the question.
            refused = follower.take(replica, self.variant.rules, Answer(error, UNDEFINED_END_OFFSET))
            yield Successor(Event("is refused", number, int(error)), cluster.with_replicas((number, refused)))
            return
        question = self.question_of(replica)
        fetch = LateFetch(broker.epoch, question, of_this_life=True) if isinstance(question, FetchQuestion) else None
        answered = self.answered(broker, replica)
        if self.variant.delays_answers:
            yield self._asking("is answered", cluster, at, number, answered, fetch)
            return
        # Nobody but the follower sees whether it has taken an answer, and it does nothing else meanwhile. So an answer
        # that it takes late may as well be taken at once; one that it does not take still tells the leader something.
        yield self._asking("asks, and takes the answer", cluster, at, number, self.taken(answered), fetch)
        if fetch is not None and not self.variant.elects_uncleanly:
            yield self._asking("asks, and the answer is lost", cluster, at, number, replica, fetch)

    def _asking(
        self, what: str, cluster: Cluster, at: int, number: int, then: Replica, fetch: LateFetch | None
    ) -> Successor:
        after = cluster.with_replicas((number, then))
        found = None
        if then.answer is None:
            has_fetched = fetch is not None and self.agrees(cluster.replicas[at], fetch.question)
            found = after_following(after, number, has_fetched=has_fetched)
        event = Event(what, number)
        if fetch is None or self.variant.elects_uncleanly:
            return Successor(event, after, found)
        successor = self._fetched(event, after, at, number, fetch)
        return successor._replace(violation=found or successor.violation)

    def _late(self, cluster: Cluster, number: int, late: LateFetch) -> Iterator[Successor]:
        at, broker = _broker_of(cluster, late.leader_epoch)
        if broker is None or leader.refusal(broker, late.leader_epoch, fences=True) is not ErrorCode.NONE:
            return
        after = cluster.with_replicas((number, cluster.replicas[number].delivered()))
        yield self._fetched(Event("fetched late", number), after, at, number, late)

    def _fetched(self, event: Event, cluster: Cluster, at: int, number: int, fetch: LateFetch) -> Successor:
        """Let a leader learn from a fetch how far the follower is; take it into the ISR where it may be."""
        broker, follows = cluster.replicas[at], cluster.replicas[number]
        tracked = follows.tracked_by(broker.epoch)
        knows_better = tracked is not None and tracked.of_this_life and not fetch.of_this_life
        if tracked is None or not self.agrees(broker, fetch.question) or (self.variant.registers and knows_better):
            return Successor(event, cluster)
        offset = fetch.question.offset
        joins = (
            broker.epoch == cluster.epoch
            and not tracked.in_isr
            and _knows_the_isr(cluster, broker.epoch)
            and offset >= max(broker.high_watermark, broker.leads_from)
            and not follows.is_down
            and (fetch.of_this_life or not self.variant.registers)
        )
        if joins:
            cluster = controller.joined(cluster, number, self.variant)
        tracked = Tracked(broker.epoch, offset, tracked.in_isr or joins, fetch.of_this_life)
        return self._acknowledging(event, _tracking(cluster, number, tracked), at)

    # --- elections

    def _told(self, cluster: Cluster, number: int, epoch: int) -> Successor:
        """Let a replica hear of an election; it may miss some, and may hear late."""
        replica = cluster.replicas[number]
        before = replica.epoch
        if epoch not in replica.terms:
            after = cluster.with_replicas((number, self.told_to_follow(replica, epoch)))
            return Successor(Event("follows", number, epoch), _nobody_leads(after, number, before))
        cluster = _nobody_leads(cluster, number, before)
        cluster = cluster.with_replicas((number, self.told_to_lead(cluster.replicas[number], epoch)))
        return self._acknowledging(Event("leads", number, epoch), cluster, number)

    def _elections(self, cluster: Cluster) -> Iterator[Successor]:
        if cluster.epoch + 1 >= self.variant.epochs:
            return
        for election in controller.elections(cluster, self.variant):
            yield Successor(
                Event(election.how, election.elected, cluster.epoch + 1), election.cluster, election.violation
            )

    # --- crashes

    def _crashing(self, cluster: Cluster, number: int, replica: Replica) -> Iterator[Successor]:
        cluster = cluster._replace(restarts_left=cluster.restarts_left - 1)
        ends = range(replica.end + 1) if self.variant.loses_tails else [replica.end]
        for end in ends:
            after = cluster.with_replicas((number, self.restarted(replica, end)))
            for other, follows in enumerate(after.replicas):
                tracked = follows.tracked_by(replica.epoch) if replica.leads else None
                if tracked is not None:
                    after = _tracking(after, other, tracked._replace(end_offset=-1))
            yield Successor(Event("crashes", number, replica.end - end), after)

    # --- what one replica does, remembered

    def _question_of(self, replica: Replica) -> leader.Question | None:
        return follower.question_of(replica, self.variant.rules)

    def _answered(self, broker: Replica, replica: Replica) -> Replica:
        question = self.question_of(replica)
        assert question is not None
        return replica.but(answer=leader.answer(broker, question, self.variant.records_per_fetch))

    def _taken(self, replica: Replica) -> Replica:
        assert replica.answer is not None
        return self._as_follower(follower.take(replica.but(answer=None), self.variant.rules, replica.answer))

    def _told_to_follow(self, replica: Replica, epoch: int) -> Replica:
        return self._as_follower(follower.begin(self._left(replica), self.variant.rules, epoch, replica.following))

    def _told_to_lead(self, replica: Replica, epoch: int) -> Replica:
        replica = self._left(replica)
        return replica.but(epoch=epoch, leads_from=replica.end, history=replica.history.assign(epoch, replica.end))

    def _restarted(self, replica: Replica, end: int) -> Replica:
        # It may hear of its epoch again, but of none before.
        has_a_part = replica.leads or replica.following is not None
        heard = replica.epoch - 1 if has_a_part else replica.epoch
        replica = self._left(replica).truncated(end)
        if not self.variant.registers:
            return replica.but(epoch=heard, leads_from=-1)
        late = None if replica.late is None else replica.late._replace(of_this_life=False)
        tracked = tuple(each._replace(of_this_life=False) for each in replica.tracked)
        return replica.but(epoch=heard, leads_from=-1, late=late, tracked=tracked, is_down=True)

    def _as_follower(self, replica: Replica) -> Replica:
        return replica.committed(0) if self.variant.forgets_high_watermarks else replica

    def _left(self, replica: Replica) -> Replica:
        left = follower.left(replica, self.variant.rules)
        return left if self.variant.fetches_late else left.delivered()


def _fresh_record(cluster: Cluster, writer: Replica) -> Record:
    """Return a record that is not yet anywhere at this offset: the smallest, so that what is forgotten counts not."""
    taken = {replica.log[writer.end] for replica in cluster.replicas if replica.end > writer.end}
    taken |= set(cluster.acked[writer.end : writer.end + 1])
    value = 0
    while Record(writer.epoch, value) in taken:
        value += 1
    return Record(writer.epoch, value)


def _tracking(cluster: Cluster, number: int, tracked: Tracked) -> Cluster:
    return cluster.with_replicas((number, cluster.replicas[number].tracked_as(tracked)))


def _knows_the_isr(cluster: Cluster, epoch: int) -> bool:
    """Tell whether a leader has heard of the ISR as it is; the controller refuses changes of an older one (KIP-497)."""
    for replica in cluster.replicas:
        tracked = replica.tracked_by(epoch)
        if tracked is not None and tracked.in_isr != replica.in_isr:
            return False
    return True


def _broker_of(cluster: Cluster, epoch: int) -> tuple[int, Replica | None]:
    """Return who was elected for an epoch; nobody where that replica may not lead in it any more."""
    for number, replica in enumerate(cluster.replicas):
        if epoch in replica.terms:
            return number, replica
    return -1, None


def _nobody_leads(cluster: Cluster, number: int, epoch: int) -> Cluster:
    """Forget what the leader of an epoch knew of the others, once it has heard of a later one."""
    if epoch not in cluster.replicas[number].terms:
        return cluster
    return cluster.with_replicas(
        *((other, replica.forgotten_by(epoch)) for other, replica in enumerate(cluster.replicas) if other != number)
    )
