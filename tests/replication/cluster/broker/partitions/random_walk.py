"""A leader of ours on a random walk: each step as a command of PartitionOracle, and what ours answered to it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from replication.cluster.broker.errors import NotEnoughReplicasError
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.requests.fetch.fetch_terms import FetchTerms
from replication.cluster.broker.requests.fetch.replica_fetch_pass import ReplicaFetchPass
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import ANY_BROKER_EPOCH, IsrChange
from replication.wire.messages.fetch import FetchPartition, FetchRequest
from replication.wire.server.call import Call, Caller
from tests.replication.cluster.broker.partitions.small_leader import LEADER, PARTITION, SmallLeader, granted, registered

LAG_MS: Final = 1_000
NEWEST, MUCH = 18, 1 << 20
_ANYBODY: Final = PartitionLookup(HostedPartitions(), KnownCluster("a-cluster", LEADER, ClusterImage))
"""Of a cluster that nothing is known of: so only the leader refuses replicas."""
STATES: Final = ("active", "active", "active", "fenced", "stopping", "gone")
ERRORS: Final = (
    ErrorCode.OPERATION_NOT_ATTEMPTED,
    ErrorCode.INELIGIBLE_REPLICA,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.NEW_LEADER_ELECTED,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.STALE_BROKER_EPOCH,
)


class RandomWalk:
    def __init__(
        self,
        random: Random,
        root: Path,
        theirs: Path = Path("orders-0"),
        *,
        repeats: bool = False,
        make: type[LedPartition] = LedPartition,
    ) -> None:
        """Begin to lead; `theirs` is where Kafka's log of it belongs. With `repeats` an answer may come twice."""
        self.random = random
        self._repeats = repeats
        self.commands: list[str] = []
        self.answers: list[str] = []
        self._told = 0
        self._answered: set[int] = set()
        replicas = random.sample(range(1, 5), random.randint(1, 4))
        replicas = list(dict.fromkeys([LEADER, *replicas]))
        random.shuffle(replicas)
        isr = [each for each in replicas if each == LEADER or random.random() < 0.6]
        records, min_isr = random.choice((0, 5)), random.randint(1, 3)
        high_watermark = random.choice((0, records))
        self.leader = leader = SmallLeader(
            root,
            replicas=replicas,
            isr=isr,
            min_isr=min_isr,
            lag_ms=LAG_MS,
            records=records,
            high_watermark=high_watermark,
            recovery_state=random.randint(0, 1),
            make=make,
        )
        self.boundaries = [0, leader.log.log_end_offset]
        for command in ("reset", f"time {leader.now}", *map(_broker, leader.brokers.values())):
            self.commands.append(command)
            self.answers.append("")
        lead = f"lead {theirs} {min_isr} {LAG_MS} {records} {high_watermark} {told(leader.state)}"
        self._note(lead, "NONE")

    def step(self) -> None:
        """Take one step."""
        steps: list[Callable[[], None]] = [
            *[self._append] * 3,
            *[self._fetch] * 8,
            *[self._pass_time] * 3,
            self._change_broker,
            *[self._check_lag] * 2,
            *[self._answer] * 4,
            self._hear_metadata,
            self._ask_for_acks,
            self._delete,
        ]
        self.random.choice(steps)()

    # --- steps

    def _append(self) -> None:
        records, acks = self.random.randint(1, 3), self.random.choice((1, -1))
        try:
            self.leader.append(records, acks=acks)
        except NotEnoughReplicasError:
            error = ErrorCode.NOT_ENOUGH_REPLICAS
        else:
            error = ErrorCode.NONE
            self.boundaries.append(self.leader.log.log_end_offset)
        self._note(f"append {records} {acks}", error.name)

    def _fetch(self) -> None:
        random, led, log = self.random, self.leader.led, self.leader.log
        broker_id = random.choice((*led.followers, *led.followers, *led.followers, LEADER, 9))
        broker = self.leader.brokers.get(broker_id)
        epoch = 100 * broker_id if broker is None else broker.epoch
        epoch = random.choice((epoch, epoch, epoch, epoch, ANY_BROKER_EPOCH, epoch - 1, epoch + 1))
        end = log.log_end_offset
        progress = led.progress_of(broker_id)
        reached = 0 if progress is None else max(progress.log_end_offset, 0)
        ahead = [each for each in self.boundaries if each >= reached] or [end]
        offset = random.choice((end, end, random.choice(ahead), random.choice(ahead), random.randint(0, end + 1)))
        start = random.randint(0, log.log_start_offset)
        current = led.leader_epoch
        current = random.choice((current, current, current, current, -1, current - 1, current + 1))
        error = self._fetched(broker_id, epoch, offset, start, current)
        self._note(f"fetch {broker_id} {epoch} {offset} {start} {current}", error.name)

    def _fetched(self, broker_id: int, epoch: int, offset: int, start: int, current: int) -> ErrorCode:
        """As the partition of a Fetch request is answered."""
        led = self.leader.led
        request = FetchRequest(partitions={}, replica_id=broker_id, replica_epoch=epoch)
        terms = FetchTerms.of(request, Call(NEWEST, Caller("127.0.0.1"), "test"))
        asked = FetchPartition(offset, MUCH, log_start_offset=start, current_leader_epoch=current)
        hosted = HostedPartition(self.leader.log, led.leader_epoch, led=led)
        return ReplicaFetchPass(_ANYBODY, terms).read(PARTITION, hosted, None, asked).error

    def _pass_time(self) -> None:
        self.leader.now += self.random.choice((1, LAG_MS // 2, LAG_MS, LAG_MS + 1))
        self._note(f"time {self.leader.now}", "NONE")

    def _change_broker(self) -> None:
        brokers = self.leader.brokers
        broker_id = self.random.randint(2, 4)
        state = self.random.choice(STATES)
        known = brokers.get(broker_id)
        epoch = (100 * broker_id if known is None else known.epoch) + self.random.choice((0, 0, 1))
        if state == "gone":
            brokers.pop(broker_id, None)
        else:
            brokers[broker_id] = replace(
                registered(broker_id, epoch), fenced=state == "fenced", in_controlled_shutdown=state == "stopping"
            )
        self._note(f"broker {broker_id} {epoch} {state}", "NONE")

    def _check_lag(self) -> None:
        self.leader.led.check_lag()
        self._note("lag", "NONE")

    def _answer(self) -> None:
        """Answer one of the changes asked for: mostly the last, sometimes again one that was answered before."""
        asked = self.leader.asked
        if not asked:
            return
        index = self.random.choice((len(asked) - 1, len(asked) - 1, self.random.randrange(len(asked))))
        if index in self._answered and not self._repeats:  # a future of Kafka's can be completed once
            return
        self._answered.add(index)
        change = asked[index]
        if self.random.random() < 0.6:
            state = self._granted(change)
            self.leader.led.answered(change, ErrorCode.NONE, state)
            self._note(f"answer {index} NONE {told(state)}", "NONE")
        else:
            error = self.random.choice(ERRORS)
            self.leader.led.answered(change, error)
            self._note(f"answer {index} {error.name}", "NONE")

    def _granted(self, change: IsrChange) -> PartitionRegistration:
        state = granted(replace(self.leader.state, replicas=self._replicas()), change)
        odd = self.random.random()
        if odd < 0.05:
            return replace(state, leader_epoch=state.leader_epoch + 1)
        if odd < 0.15:
            return replace(state, partition_epoch=state.partition_epoch + self.random.choice((-2, 1)))
        return state

    def _hear_metadata(self) -> None:
        led, random = self.leader.led, self.random
        state = replace(
            self.leader.state,
            replicas=self._replicas(),
            isr=led.isr,
            leader_epoch=led.leader_epoch,
            partition_epoch=led.partition_epoch + random.choice((-1, 0, 1, 1, 2)),
            leader_recovery_state=led.recovery_state,
        )
        if state.partition_epoch == led.partition_epoch and led.wanted is not None:
            return  # Kafka forgets a change of the ISR that may be made yet; ours waits for its answer
        if state.partition_epoch != led.partition_epoch:  # each has one state of the partition
            replicas = list(state.replicas)
            if random.random() < 0.3:
                replicas = list(dict.fromkeys([LEADER, *random.sample(range(1, 5), random.randint(1, 4))]))
            state = replace(
                state,
                replicas=tuple(replicas),
                isr=tuple(each for each in replicas if each == LEADER or random.random() < 0.6),
                leader_epoch=led.leader_epoch + random.choice((0, 0, 1)),
                leader_recovery_state=random.randint(0, 1),
            )
        is_taken = led.update(state)
        self._note(f"metadata {told(state)}", "NONE" if is_taken else "OLD")
        self.leader.state = replace(state, leader_epoch=led.leader_epoch, partition_epoch=led.partition_epoch)

    def _ask_for_acks(self) -> None:
        offset = self.random.choice(self.boundaries)
        answer = self.leader.led.replicated(offset)
        self._note(f"reached {offset}", "WAIT" if answer is None else answer.name)

    def _delete(self) -> None:
        log = self.leader.log
        before = self.random.randint(log.log_start_offset, log.high_watermark)
        log.delete_records(before)
        self._note(f"delete {before}", "NONE")

    # --- what is told

    def _replicas(self) -> tuple[int, ...]:
        return (LEADER, *self.leader.led.followers)

    def _note(self, command: str, result: str) -> None:
        led, log = self.leader.led, self.leader.log
        asked = self.leader.asked[self._told :]
        self._told = len(self.leader.asked)
        entries = ",".join(f"{each.epoch}:{each.start_offset}" for each in log.epochs.entries)
        offsets = (led.leader_epoch, led.partition_epoch, log.high_watermark, log.log_end_offset, led.low_watermark)
        self.commands.append(command)
        self.answers.append(
            f"{result} {' '.join(map(str, offsets))} {ids(led.isr)} {ids(led.maximal_isr)}"
            f" {';'.join(map(wanted, asked)) or '-'} {entries}"
        )


def _broker(broker: BrokerRegistration) -> str:
    return f"broker {broker.id} {broker.epoch} active"


def told(state: PartitionRegistration) -> str:
    """A state of a partition, as the program reads it."""
    replicas, isr = ",".join(map(str, state.replicas)), ",".join(map(str, state.isr))
    epochs = f"{state.leader_epoch}/{state.partition_epoch}"
    return f"{replicas}/{isr}/{epochs}/{int(state.leader_recovery_state)}"


def wanted(change: IsrChange) -> str:
    """A change that is asked for, as the program tells it."""
    isr = ",".join(f"{each.broker_id}:{each.broker_epoch}" for each in sorted(change.isr))
    return f"{isr}/{change.leader_epoch}/{change.partition_epoch}/{int(change.leader_recovery_state)}"


def ids(brokers: tuple[int, ...] | frozenset[int]) -> str:
    return ",".join(map(str, sorted(brokers)))
