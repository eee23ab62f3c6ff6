"""A leader of a partition in a test's hands: its clock, what it knows of the brokers, and what it asks for."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from uuid import UUID

from logstore import Log, TopicPartition
from logstore.append.append_info import AppendInfo
from logstore.append.encoding import encode_batch
from replication.cluster.broker.events.partition_events import IsrChanged
from replication.cluster.broker.partitions.leader_settings import LeaderSettings
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import IsrChange

PARTITION: Final = TopicPartition("orders", 0)
TOPIC_ID: Final = UUID(int=1_000)
LEADER: Final = 1
START_MS: Final = 1_700_000_000_000
LEADER_EPOCH: Final = 5
PARTITION_EPOCH: Final = 10


def registered(broker_id: int, epoch: int | None = None) -> BrokerRegistration:
    """A broker that is active, by default in the epoch that its id tells."""
    chosen = broker_epoch(broker_id) if epoch is None else epoch
    return BrokerRegistration(
        id=broker_id, epoch=chosen, incarnation_id=UUID(int=broker_id), listeners={}, features={}, fenced=False
    )


def broker_epoch(broker_id: int) -> int:
    return 100 * broker_id


class SmallLeader:
    def __init__(
        self,
        root: Path,
        *,
        replicas: Sequence[int] = (1, 2, 3),
        isr: Sequence[int] | None = None,
        min_isr: int = 1,
        lag_ms: int = 30_000,
        records: int = 0,
        high_watermark: int = 0,
        recovery_state: int = 0,
        make: type[LedPartition] = LedPartition,
    ) -> None:
        """Have a log with some records of the epoch before, and lead it."""
        self.now = START_MS
        self.brokers = {broker_id: registered(broker_id) for broker_id in replicas}
        self.asked: list[IsrChange] = []
        self.told: list[IsrChanged] = []
        self.wakes = 0
        self.log = Log.open(root / "orders-0", replicated=True)
        if records:
            self.log.append(batch(records), leader_epoch=LEADER_EPOCH - 1)
        self.log.update_high_watermark(high_watermark)
        self.state = PartitionRegistration(
            replicas=tuple(replicas),
            isr=tuple(replicas if isr is None else isr),
            leader=LEADER,
            leader_epoch=LEADER_EPOCH,
            partition_epoch=PARTITION_EPOCH,
            leader_recovery_state=recovery_state,
        )
        self.led = make(
            PARTITION,
            TOPIC_ID,
            self.log,
            self.state,
            broker_id=LEADER,
            broker_of=self.brokers.get,
            isr_changes=self,
            settings=LeaderSettings(min_insync_replicas=min_isr, replica_lag_time_max_ms=lag_ms),
            clock=lambda: self.now,
            wake=self._wake,
            tell=self.told.append,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.log.close()

    def ask(self, change: IsrChange) -> None:
        self.asked.append(change)

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark

    @property
    def asked_isrs(self) -> list[set[int]]:
        return [set(change.broker_ids) for change in self.asked]

    def append(self, records: int = 1, *, acks: int = 1) -> AppendInfo:
        return self.led.append(batch(records), required_acks=acks)

    def fetch(
        self,
        broker_id: int,
        offset: int,
        *,
        epoch: int | None = None,
        log_start: int = 0,
        current_leader_epoch: int = LEADER_EPOCH,
    ) -> ErrorCode:
        chosen = broker_epoch(broker_id) if epoch is None else epoch
        return self.led.fetched(broker_id, chosen, offset, log_start, current_leader_epoch=current_leader_epoch)

    def answer(self, error: ErrorCode = ErrorCode.NONE, *, change: IsrChange | None = None) -> None:
        """Answer the change asked for last: grant it, or refuse it."""
        wanted = self.asked[-1] if change is None else change
        if error is ErrorCode.NONE:
            self.state = granted(self.state, wanted)
        self.led.answered(wanted, error, self.state if error is ErrorCode.NONE else None)

    def _wake(self) -> None:
        self.wakes += 1


def granted(state: PartitionRegistration, wanted: IsrChange) -> PartitionRegistration:
    """The partition after the controller has made a change."""
    return replace(
        state,
        isr=wanted.broker_ids,
        partition_epoch=wanted.partition_epoch + 1,
        leader_recovery_state=wanted.leader_recovery_state,
    )


def batch(records: int) -> bytes:
    return bytes(encode_batch([b"value"] * records))
