"""What may happen next in a cluster of the model, and what comes of it.

A question and its answer are steps apart where anybody could tell, and so are a decision of the controller and each
broker's hearing of it. A broker that has registered acts on no metadata from before. What one broker does is a
function of values, and remembered.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from epoch import UNDEFINED_END_OFFSET
from replication.cluster.fetcher.decisions.fetch_rules import FetchRules
from replication.cluster.fetcher.decisions.fetch_state_machine import FetchQuestion
from replication.records.metadata.records import NO_LEADER
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.fetcher.model import follower
from tests.replication.cluster.fetcher.model import leader as answers
from tests.replication.cluster.fetcher.model.replica import Answer, Record, Replica
from tests.replication.cluster_model import violations
from tests.replication.cluster_model.cluster import Cluster, Event, Successor, What
from tests.replication.cluster_model.leading import RECORDS_PER_FETCH, Leaders
from tests.replication.cluster_model.metadata import Decisions, Metadata, first_metadata
from tests.replication.cluster_model.node import Node, SentChange, SentFetch
from tests.replication.cluster_model.scope import Scope

RULES: Final = FetchRules(back_off_ms=0)


class Model:
    """All that may happen in a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._decisions = Decisions(scope)
        leaders = Leaders(scope)
        self._resigned = cache(leaders.resigned)
        self._written = cache(leaders.written)
        self._long_after = cache(leaders.long_after)
        self._answered = cache(leaders.answered)
        self._fetched_by = cache(leaders.fetched)
        self._leaders = leaders
        self._question_of = cache(lambda replica: follower.question_of(replica, RULES))
        self._taken = cache(lambda replica, answer: follower.take(replica, RULES, answer))
        self._heard = cache(self._hear)
        self._fallen = cache(self._fall)

    def initial(self) -> Cluster:
        """Return a cluster whose first leader leads and is followed, and nothing is written."""
        metadata = first_metadata(self.scope)
        nodes = tuple(
            self._heard(Node(Replica(), broker_epoch=broker.epoch), broker.id, metadata) for broker in metadata.brokers
        )
        return Cluster(nodes, metadata, (), self.scope.records, self.scope.failures)

    def successors(self, cluster: Cluster) -> Iterator[Successor]:
        """Yield every way on."""
        for event in self.events(cluster):
            successor = self.after(cluster, event)
            if successor is not None:
                yield successor

    # --- what may happen

    def events(self, cluster: Cluster) -> Iterator[Event]:
        """Yield what may happen, and some that will turn out to change nothing."""
        for number, node in enumerate(cluster.nodes):
            yield from self._events_of(cluster, number, node)
            for index, sent in enumerate(node.changes):
                yield from self._events_of_change(number, index, sent)
            if node.late is not None:
                yield Event(What.LATE_FETCH, number)
        if self.scope.balances:
            yield Event(What.BALANCED, 0)

    def _events_of(self, cluster: Cluster, number: int, node: Node) -> Iterator[Event]:
        broker = cluster.metadata.brokers[number]
        if not node.is_up:
            yield Event(What.STARTS, number)
            if not broker.fenced:
                yield Event(What.FENCED, number)
            return
        if node.view is not cluster.metadata:
            yield Event(What.HEARS, number)
        if node.led is not None:
            if cluster.records_left and node.led.leader_epoch <= self.scope.writes_in_epoch:
                yield Event(What.WRITES, number)
            yield Event(What.LAG, number)
        elif node.replica.following is not None:
            yield Event(What.FETCHES, number)
            yield Event(What.FETCHES_IN_VAIN, number)
        if broker.fenced and node.view is not None:
            yield Event(What.UNFENCED, number)
        if cluster.failures_left:
            yield from self._failures_of(cluster, number, node)

    def _failures_of(self, cluster: Cluster, number: int, node: Node) -> Iterator[Event]:
        if not cluster.metadata.brokers[number].fenced:
            yield Event(What.FENCED, number)
            if self.scope.stops and node.view is not None and cluster.metadata.is_active(number):
                yield Event(What.SHUTS_DOWN, number)
        if self.scope.stops:
            yield Event(What.STOPS, number)
        for lost in range(node.replica.end + 1 if self.scope.loses_tails else 1):
            yield Event(What.CRASHES, number, lost)

    def _events_of_change(self, number: int, index: int, sent: SentChange) -> Iterator[Event]:
        if sent.answer is None:
            yield Event(What.CHANGE, number, index)
            if self.scope.repeats_requests:
                yield Event(What.CHANGE_AND_AGAIN, number, index)
            return
        yield Event(What.ANSWER, number, index)
        yield Event(What.ANSWER_LOST, number, index)
        if self.scope.repeats_answers:
            yield Event(What.ANSWER_AND_AGAIN, number, index)

    # --- what comes of it

    def after(self, cluster: Cluster, event: Event) -> Successor | None:
        """Return what an event leads to; None if it changes nothing, or leads out of the scope."""
        then = self._happened(cluster, event)
        if then.metadata.partition.partition_epoch > self.scope.changes:
            return None
        then, wrong = violations.committed_by(cluster, then)
        unclean = violations.is_unclean(cluster, then)
        if wrong is None and not unclean:
            wrong = violations.found(cluster, then)
        then = self._without_what_never_matters(then)
        return None if then == cluster else Successor(event, then, wrong, unclean)

    def _happened(self, cluster: Cluster, event: Event) -> Cluster:
        number, metadata = event.node, cluster.metadata
        node = cluster.nodes[number]
        match event.what:
            case What.WRITES:
                cluster = cluster._replace(records_left=cluster.records_left - 1)
                return cluster.with_node(number, self._written(node, number, _fresh_record(cluster, node)))
            case What.FETCHES | What.FETCHES_IN_VAIN:
                return self._asked(cluster, number, is_answered=event.what is What.FETCHES)
            case What.LATE_FETCH:
                assert node.late is not None
                then, _ = self._fetched(cluster.with_node(number, node.but(late=None)), number, node.late)
                return then
            case What.LAG:
                return cluster.with_node(number, self._long_after(node, number))
            case What.CHANGE | What.CHANGE_AND_AGAIN:
                return self._change_decided(cluster, number, event)
            case What.ANSWER | What.ANSWER_AND_AGAIN | What.ANSWER_LOST:
                return self._change_answered(cluster, number, event)
            case What.HEARS:
                return cluster.with_node(number, self._heard(node, number, metadata))
            case What.FENCED:
                cluster = cluster.failed_once_more if node.is_up else cluster
                return cluster._replace(metadata=self._decisions.fenced(metadata, number))
            case What.UNFENCED:
                return cluster._replace(metadata=self._decisions.unfenced(metadata, number))
            case What.SHUTS_DOWN:
                return cluster.failed_once_more._replace(metadata=self._decisions.shutting_down(metadata, number))
            case What.STOPS:
                return cluster.failed_once_more.with_node(number, self._fallen(node, node.replica.end, in_order=True))
            case What.CRASHES:
                end = node.replica.end - event.detail
                return cluster.failed_once_more.with_node(number, self._fallen(node, end, in_order=False))
            case What.STARTS:
                return self._started(cluster, number, node)
            case What.BALANCED:
                return cluster._replace(metadata=self._decisions.balanced(metadata))

    # --- fetches

    def _asked(self, cluster: Cluster, number: int, *, is_answered: bool) -> Cluster:
        node = cluster.nodes[number]
        assert node.view is not None
        leader, question = node.view.leader, self._question_of(node.replica)
        if question is None or not cluster.nodes[leader].is_up:
            return cluster
        if isinstance(question, FetchQuestion):
            fetch = SentFetch(leader, node.replica.epoch, node.broker_epoch, question)
            cluster, answer = self._fetched(cluster, number, fetch)
        else:
            answer = _answer(cluster.nodes[leader], node.replica.epoch, question)
        if not is_answered:
            return cluster
        return cluster.with_node(number, node.but(replica=self._taken(node.replica, answer)))

    def _fetched(self, cluster: Cluster, number: int, fetch: SentFetch) -> tuple[Cluster, Answer]:
        leader, answer = self._fetched_by(cluster.nodes[fetch.leader], fetch.leader, number, fetch)
        return cluster.with_node(fetch.leader, leader), answer

    def _left(self, node: Node) -> Node:
        """Follow no more: a fetch that is underway may arrive all the same."""
        question = self._question_of(node.replica)
        late = node.late
        if self.scope.fetches_late and isinstance(question, FetchQuestion) and node.view is not None:
            late = SentFetch(node.view.leader, node.replica.epoch, node.broker_epoch, question)
        return node.but(replica=node.replica.but(following=None), late=late)

    # --- changes of the ISR

    def _change_decided(self, cluster: Cluster, number: int, event: Event) -> Cluster:
        node, index = cluster.nodes[number], event.detail
        sent = node.changes[index]
        metadata, answer = self._decisions.changed(cluster.metadata, number, sent.broker_epoch, sent.change)
        again = (sent,) if event.what is What.CHANGE_AND_AGAIN and sent not in node.changes[index + 1 :] else ()
        changes = (*node.changes[:index], sent._replace(answer=answer), *again, *node.changes[index + 1 :])
        return cluster._replace(metadata=metadata).with_node(number, node.but(changes=changes))

    def _change_answered(self, cluster: Cluster, number: int, event: Event) -> Cluster:
        node = cluster.nodes[number]
        sent = node.changes[event.detail]
        if event.what is not What.ANSWER_AND_AGAIN:
            node = node.but(changes=(*node.changes[: event.detail], *node.changes[event.detail + 1 :]))
        if node.led is None:
            return cluster.with_node(number, node)
        answer = sent.answer
        assert answer is not None
        if event.what is What.ANSWER_LOST:
            answer = answer._replace(error=ErrorCode.REQUEST_TIMED_OUT, partition=None)
        return cluster.with_node(number, self._answered(node, number, sent.change, answer))

    # --- metadata

    def _hear(self, node: Node, number: int, metadata: Metadata) -> Node:
        partition, knew = metadata.partition, node.replica.epoch
        if partition.leader_epoch > knew and node.led is None:
            node = self._left(node)
        node = node.but(view=metadata, replica=node.replica.but(epoch=partition.leader_epoch))
        if partition.leader == number:
            return self._leaders.begun(node, number) if node.led is None else self._leaders.updated(node, number)
        if node.led is not None:
            node = self._resigned(node, number)
        if partition.leader_epoch == knew or partition.leader == NO_LEADER:
            return node
        return node.but(replica=follower.begin(node.replica, RULES, partition.leader_epoch, None))

    # --- stops and starts

    def _fall(self, node: Node, end: int, *, in_order: bool) -> Node:
        """End, with what is left of the log; what was sent may arrive all the same."""
        node = self._left(node)
        return node.but(
            replica=node.replica.truncated(end).but(high_watermark=0, epoch=-1),
            led=None,
            view=None,
            is_up=False,
            has_stopped_in_order=in_order,
            changes=tuple(sent for sent in node.changes if sent.answer is None),
        )

    def _started(self, cluster: Cluster, number: int, node: Node) -> Cluster:
        previous = node.broker_epoch if node.has_stopped_in_order else -1
        metadata = self._decisions.registered(cluster.metadata, number, previous)
        epoch = metadata.brokers[number].epoch
        node = node.but(is_up=True, has_stopped_in_order=False, broker_epoch=epoch, changes=())
        return cluster._replace(metadata=metadata).with_node(number, node)

    # --- what never matters

    def _without_what_never_matters(self, cluster: Cluster) -> Cluster:
        """Forget fetches that will be refused, and changes of the ISR that will be, and for which nobody waits."""
        for number, node in enumerate(cluster.nodes):
            late = node.late
            if late is not None:
                leader = cluster.nodes[late.leader]
                if not leader.is_up or leader.replica.epoch > late.leader_epoch:
                    cluster = cluster.with_node(number, cluster.nodes[number].but(late=None))
            if node.changes:
                changes = tuple(sent for sent in node.changes if self._matters(cluster, node, sent))
                if changes != node.changes:
                    cluster = cluster.with_node(number, cluster.nodes[number].but(changes=changes))
        return cluster

    def _matters(self, cluster: Cluster, node: Node, sent: SentChange) -> bool:
        if node.led is not None and node.led.wanted == sent.change:
            return True
        if sent.answer is None:
            return sent.change.partition_epoch >= cluster.metadata.partition.partition_epoch
        partition = sent.answer.partition
        if node.led is None or partition is None or not self.scope.repeats_answers:
            return False
        return partition.partition_epoch >= node.led.partition_epoch


def _answer(leader: Node, leader_epoch: int, question: answers.Question) -> Answer:
    """Answer where an epoch, or the log, ends."""
    known = leader.replica.epoch
    if leader_epoch != known:
        error = ErrorCode.FENCED_LEADER_EPOCH if leader_epoch < known else ErrorCode.UNKNOWN_LEADER_EPOCH
        return Answer(error, UNDEFINED_END_OFFSET)
    if leader.led is None:
        return Answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, UNDEFINED_END_OFFSET)
    return answers.answer(leader.replica, question, RECORDS_PER_FETCH)


def _fresh_record(cluster: Cluster, writer: Node) -> Record:
    """Return a record that is not yet anywhere at this offset."""
    assert writer.led is not None
    epoch, offset = writer.led.leader_epoch, writer.replica.end
    logs = [*(node.replica.log for node in cluster.nodes), cluster.committed]
    taken = {log[offset] for log in logs if len(log) > offset}
    value = 0
    while Record(epoch, value) in taken:
        value += 1
    return Record(epoch, value)
