"""Random histories of a partition: however its replicas and its mirror were led, they end as their leader is.

Real logs, real fetchers, and a broker's own leader and answers, without a network. Elections are clean, then nothing
below the high watermark is lost, or not, then exactly that is cut of which `plan` says so beforehand.
"""

import tempfile
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from epoch import Truncation, TruncationProtocol, truncate_against
from logstore import Log
from logstore.append.encoding import encode_batch
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.fetcher.decisions.fetch_rules import MIRROR_RULES, REPLICA_RULES
from replication.cluster.fetcher.fetcher import Fetcher
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.cluster.fetcher.requests.open_fetch import LEAST_WAIT_MS
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import IsrChange
from replication.wire.messages.fetch import FetchRequest, FetchResponse
from replication.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.campaign import Campaign
from tests.replication.cluster.broker.partitions.small_leader import granted, registered
from tests.replication.cluster.fetcher.drive import (
    PARTITION,
    Cuts,
    assert_follows,
    batches,
    catch_up,
    exchange,
    open_log,
)
from tests.replication.cluster.fetcher.leader import Leader

HISTORIES = Campaign("fetcher: random histories of replicas and a mirror", full=1_000, share=25)

REPLICAS = (1, 2, 3)
MIRROR = 9
FOLLOWERS = (*REPLICAS, MIRROR)
RULES = {1: REPLICA_RULES, 2: MIRROR_RULES, 3: REPLICA_RULES, MIRROR: MIRROR_RULES}
"""Replica 2 asks, as those did that follow a leader of before Kafka 2.7."""
SMALL = 300


class Histories(RuleBasedStateMachine):
    """Three replicas, one of which leads, and a mirror that is none."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="histories-"))
        self.logs: dict[int, Log] = {each: open_log(self.root / str(each)) for each in FOLLOWERS}
        self.cuts = {each: Cuts() for each in FOLLOWERS}
        self.fetchers: dict[int, Fetcher] = {}
        self.state = PartitionRegistration(replicas=REPLICAS, isr=REPLICAS, leader=1, leader_epoch=-1)
        """As the controller has it."""
        self.brokers = {each: registered(each) for each in REPLICAS}
        self.led: LedPartition | None = None
        self.committed: dict[int, bytes] = {}
        """What was below a leader's high watermark, by offset of its batch, as long as elections were clean."""
        self.written = 0

    def teardown(self) -> None:
        for log in self.logs.values():
            log.close()
        rmtree(self.root)

    @initialize()
    def first_election(self) -> None:
        self.elect(1)

    # --- what happens in a cluster

    @property
    def leader_id(self) -> int:
        return self.state.leader

    @property
    def leader_epoch(self) -> int:
        return self.state.leader_epoch

    def elect(self, leader_id: int) -> None:
        if self.led is not None:
            self.led.resign()
        self.hear_of(leader_id)
        self.change(leader=leader_id, leader_epoch=self.leader_epoch + 1)
        log = self.logs[leader_id]
        self.leader = Leader(broker=leader_id, followers=tuple(each for each in REPLICAS if each != leader_id))
        self.leader.lead(PARTITION, log, self.leader_epoch)
        self.led = self.leader.partitions[PARTITION].led = LedPartition(
            PARTITION,
            self.leader.topic_ids[PARTITION.topic],
            log,
            self.state,
            broker_id=leader_id,
            broker_of=self.brokers.get,
            isr_changes=self,
            clock=lambda: 0,
        )
        self.fetchers.pop(leader_id, None)
        self.planned = {each: self.plan(each) for each in FOLLOWERS if each != leader_id}
        for each in self.planned:
            self.cuts[each].cuts.clear()
            self.fetcher(each).follow(PARTITION, self.logs[each], self.leader_epoch)
        self.note_committed()

    def change(self, **fields: Any) -> None:
        """As the controller does."""
        self.state = replace(self.state, partition_epoch=self.state.partition_epoch + 1, **fields)

    def hear_of(self, replica: int) -> None:
        """Unfence its broker."""
        self.brokers[replica] = registered(replica)

    def ask(self, change: IsrChange) -> None:
        """Grant the ISR that the leader wants."""
        assert self.led is not None
        self.state = granted(self.state, change)
        self.led.answered(change, ErrorCode.NONE, self.state)

    def fetcher(self, follower: int) -> Fetcher:
        if follower not in self.fetchers:
            identity = FetchIdentity() if follower == MIRROR else FetchIdentity(follower)
            how = FetcherSettings(identity=identity, rules=RULES[follower], max_partition_bytes=SMALL)
            self.fetchers[follower] = Fetcher(how, observer=self.cuts[follower])
        return self.fetchers[follower]

    def exchange(self, follower: int) -> None:
        fetcher = self.fetcher(follower)
        exchange(fetcher, self.leader, fetcher.confirmed_at + LEAST_WAIT_MS)

    def plan(self, follower: int) -> int:
        """Where the follower's log must end before it can follow, by what both hold."""
        log, leader = self.logs[follower], self.logs[self.leader_id]
        truncation = Truncation(TruncationProtocol.KIP_320, log.epochs.history, log.log_end_offset, log.high_watermark)
        return truncate_against(leader.epochs.history, leader.log_end_offset, truncation).truncate_to

    def note_committed(self) -> None:
        log = self.logs[self.leader_id]
        for base_offset, batch in batches(log, log.log_start_offset, log.high_watermark):
            assert self.committed.setdefault(base_offset, batch) == batch

    @rule(records=st.integers(1, 4), appends=st.integers(1, 4))
    def write(self, records: int, appends: int) -> None:
        assert self.led is not None
        for _ in range(appends):
            self.written += 1
            value = b"%d by %d" % (self.written, self.leader_id)
            self.led.append(encode_batch([value] * records), required_acks=1)
        self.note_committed()

    @rule(follower=st.sampled_from(FOLLOWERS), rounds=st.integers(1, 4))
    def replicate(self, follower: int, rounds: int) -> None:
        if follower != self.leader_id:
            self.hear_of(follower)
            for _ in range(rounds):
                self.exchange(follower)
                self.note_committed()

    @rule(follower=st.sampled_from(REPLICAS))
    def fence(self, follower: int) -> None:
        """As the controller does where a broker is not heard of any more."""
        assert self.led is not None
        if follower != self.leader_id:
            self.brokers[follower] = self.brokers[follower].with_fenced(fenced=True)
            self.change(isr=tuple(each for each in self.state.isr if each != follower))
            self.led.update(self.state)
            self.note_committed()

    @rule(leader=st.sampled_from(REPLICAS))
    def elect_clean(self, leader: int) -> None:
        if leader in self.state.isr:
            self.elect(leader)

    @precondition(lambda self: self.leader_epoch > 0)
    @rule(leader=st.sampled_from(REPLICAS))
    def elect_unclean(self, leader: int) -> None:
        self.change(isr=(leader,))
        log = self.logs[leader]
        held = dict(batches(log, 0, log.log_end_offset))
        self.committed = {base: batch for base, batch in self.committed.items() if held.get(base) == batch}
        self.elect(leader)

    @rule(share=st.integers(0, 4))
    def delete_records(self, share: int) -> None:
        log = self.logs[self.leader_id]
        log.delete_records(log.log_start_offset + (log.high_watermark - log.log_start_offset) * share // 4)

    @rule(follower=st.sampled_from(FOLLOWERS))
    def restart(self, follower: int) -> None:
        """In order: nothing is lost."""
        if follower == self.leader_id:
            return
        self.logs[follower].close()
        self.logs[follower] = open_log(self.root / str(follower))
        self.fetchers.pop(follower, None)
        self.fetcher(follower).follow(PARTITION, self.logs[follower], self.leader_epoch)

    @rule(follower=st.sampled_from(FOLLOWERS))
    def forget_session(self, follower: int) -> None:
        """As a leader does whose memory for sessions is full."""
        if follower != self.leader_id:
            self.leader.forget_sessions()

    # --- what must hold

    @rule(follower=st.sampled_from(FOLLOWERS))
    def catch_up(self, follower: int) -> None:
        if follower == self.leader_id:
            return
        self.hear_of(follower)
        log, leader = self.logs[follower], self.logs[self.leader_id]
        epochs_known = len(log.epochs.history)
        end = leader.high_watermark if follower == MIRROR else leader.log_end_offset
        asked = catch_up(self.fetcher(follower), self.leader, to=end, wait_ms=self.longest_wait())
        self.note_committed()
        # A leader's high watermark lags after its election: the mirror may know of more.
        assert_follows(log, leader, max(log.log_end_offset, end))
        self.exchange(follower)
        if self.has_diverged(follower):
            # With where the logs depart a leader tells its high watermark too, for once. As in Kafka that is not taken.
            self.leader.forget_sessions()
            self.exchange(follower)
            self.exchange(follower)
        # The leader may have yet to hear of records that were deleted, and committed, before it was elected.
        told = max(leader.high_watermark, log.log_start_offset)
        assert log.high_watermark == min(told, log.log_end_offset)
        self.assert_few_questions(asked, epochs_known)
        self.assert_as_planned(follower)

    def has_diverged(self, follower: int) -> bool:
        """Whether this leader has told it so."""
        told = [answer for request, answer in self.leader.exchanges if request.replica_id == follower]
        fetched = [each for answer in told if isinstance(answer, FetchResponse) for each in answer.partitions.values()]
        return any(each.diverging_epoch is not None for each in fetched)

    def longest_wait(self) -> int:
        """Where the leader's log starts within a batch, a follower's may end in it.

        It is asked once more, whether that is so, then cut to where the batch begins, and sent on to where the leader's
        log starts: that makes setbacks of one, two and two seconds.
        """
        log = self.logs[self.leader_id]
        first = batches(log, log.log_start_offset, log.log_end_offset)[:1]
        starts_within = any(base_offset < log.log_start_offset for base_offset, _ in first)
        return 5 * REPLICA_RULES.back_off_ms if starts_within else 0

    def assert_few_questions(self, asked: list[Any], epochs_known: int) -> None:
        questions = [each for each in asked if isinstance(each, OffsetForLeaderEpochRequest)]
        fetched = [type(each) for each in asked].index(FetchRequest)
        assert len([each for each in asked[:fetched] if each in questions]) <= max(1, epochs_known)

    def assert_as_planned(self, follower: int) -> None:
        """Where the leader has deleted nothing that the follower still needed, what is cut is what was planned."""
        cuts = self.cuts[follower].cuts
        if any(cut.starts_afresh for cut in cuts) or self.logs[self.leader_id].log_start_offset > 0:
            return
        if cuts:
            assert min(cut.offset for cut in cuts) == self.planned[follower]

    @invariant()
    def committed_records_stay(self) -> None:
        log = self.logs[self.leader_id]
        held = dict(batches(log, log.log_start_offset, log.log_end_offset))
        for base_offset, batch in self.committed.items():
            assert base_offset < log.log_start_offset or held.get(base_offset) == batch


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=HISTORIES.count,
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
