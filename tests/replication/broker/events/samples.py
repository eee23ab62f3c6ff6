"""An event of each kind."""

from logstore import TopicPartition
from replication.broker.events.departure_events import Leaving, Left
from replication.broker.events.partition_events import IsrChanged, Role, RoleChanged, Truncated
from replication.broker.events.trouble_events import TroubleBegan, TroubleEnded, TroubleKind

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
TROUBLE = TroubleBegan(
    kind=TroubleKind.LEADER, peer="broker1:9092", why="this broker cannot follow the leader: refused"
)
OVER = TroubleEnded(kind=TroubleKind.CONTROLLER, peer=None, lasted_ms=3_500)
LEAVING = Leaving(within_ms=30_000)
LEFT = Left(took_ms=120)
LEFT_BEHIND = Left(took_ms=30_000, reason="controller1:9093: no response")
