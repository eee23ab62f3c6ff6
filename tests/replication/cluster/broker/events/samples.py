"""An event of each kind."""

from pathlib import Path

from logstore import DirectoryRecovery, DroppedTail, RecoveryReport, TopicPartition
from logstore.directory.shortfalls.shortfall import Shortfall
from logstore.files.broker.kept_claims import Claims
from replication.cluster.broker.events.coordinator_replicas import CoordinatorReplicas
from replication.cluster.broker.events.departure_events import Leaving, Left
from replication.cluster.broker.events.partition_events import (
    DamageRead,
    IsrChanged,
    ReplicaLost,
    ReplicaShort,
    Role,
    RoleChanged,
    Standing,
    Truncated,
)
from replication.cluster.broker.events.recovery_events import DirectoryRecovered, RecoveryTruncated
from replication.cluster.broker.events.trouble_events import TroubleBegan, TroubleEnded, TroubleKind
from replication.records.metadata.partition import PartitionRegistration

ORDERS = TopicPartition("orders", 3)
ROLE = RoleChanged(
    partition=ORDERS,
    before=Role.FOLLOWER,
    after=Role.LEADER,
    leader_epoch_before=6,
    leader_epoch=7,
    leader=9,
    log_end_offset=120,
    high_watermark=100,
    why="elected",
)
ISR = IsrChanged(
    partition=ORDERS,
    leader_epoch=7,
    partition_epoch=12,
    before=(9, 1, 2),
    after=(9, 2),
    log_end_offset=150,
    high_watermark=100,
    is_asked=True,
    why="not caught up for 3000 ms: broker 1 at 100 of 150",
)
CUT = Truncated(
    partition=ORDERS,
    leader_epoch=8,
    last_epoch_before=7,
    last_epoch=5,
    before=150,
    after=100,
    records=50,
    size=4_000,
    high_watermark=100,
    is_below_high_watermark=False,
    why='its epoch "5" ends at 100',
)
LOST = ReplicaLost(
    partition=ORDERS, leader_epoch=8, lost="lP_ODQaETWKSpmNnja0EVA", root="/disk-2/kafka-logs", is_only=False
)
SHORT = ReplicaShort(
    partition=ORDERS,
    state=PartitionRegistration(replicas=(9, 2), isr=(9,), leader=-1, leader_epoch=8),
    short=Shortfall(
        directory=Path("/disk-1/orders-3"),
        claims=Claims(recovery_point=100, high_watermark=150),
        first_offset=0,
        log_end_offset=60,
    ),
    standing=Standing.WITHHELD,
)
DAMAGE = DamageRead(
    partition=ORDERS,
    file="/disk-1/orders-3/00000000000000000080.log",
    position=1_400,
    offset=95,
    why="the checksum of the batch of 300 bytes does not match",
)
DROPPED = RecoveryReport(
    dropped=[
        DroppedTail("00000000000000000080.log", 1_400, 2_000, "a batch's checksum does not match", 30, 130),
        DroppedTail("00000000000000000130.log", 0, 700, "it follows a damaged segment", 10, 140),
    ],
    log_end_offset=100,
    high_watermark_before=110,
)
RECOVERY_CUT = RecoveryTruncated(partition=ORDERS, directory=Path("/disk-1/orders-3"), report=DROPPED)
RECOVERED = DirectoryRecovered(
    directory=Path("/disk-1"),
    recovery=DirectoryRecovery(logs=12, truncated_logs=1, segments=14, bytes=90_000, seconds=1.5),
)
TROUBLE = TroubleBegan(
    kind=TroubleKind.LEADER, peer="broker1:9092", why="this broker cannot follow the leader: refused"
)
OVER = TroubleEnded(kind=TroubleKind.CONTROLLER, peer=None, lasted_ms=3_500)
LEAVING = Leaving(within_ms=30_000)
LEFT = Left(took_ms=120)
LEFT_BEHIND = Left(took_ms=30_000, reason="controller1:9093: no response")
COORDINATES = CoordinatorReplicas(
    topics=("__consumer_offsets", "__transaction_state"),
    partitions=3,
    bootstrap="broker9:9092",
    moves='{"version":1,"partitions":[{"topic":"__consumer_offsets","partition":4,"replicas":[1,2]}]}',
)
