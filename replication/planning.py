"""What replicas would truncate under which leader, and who should lead: decided from files, before it happens."""

from epoch import TruncationProtocol
from replication.base.errors import (
    CannotFollowError,
    NoEpochLeftError,
    NothingInCommonError,
    PartitionVanishedError,
    SameReplicaError,
    TopicIdsDifferError,
    UnknownHighWatermarkError,
)
from replication.copies.planning.advice import Advice, Loss, Standing, advise, advise_replicas
from replication.copies.planning.damage import Damage
from replication.copies.planning.metadata_plan import plan_metadata
from replication.copies.planning.plan import plan, plan_replicas
from replication.copies.planning.raft_log import LogPosition, RaftLog
from replication.copies.planning.replica import Replica, held_by_one, open_replicas
from replication.copies.planning.truncation_plan import Relation, TruncationPlan

__all__ = [
    "Advice",
    "CannotFollowError",
    "Damage",
    "LogPosition",
    "Loss",
    "NoEpochLeftError",
    "NothingInCommonError",
    "PartitionVanishedError",
    "RaftLog",
    "Relation",
    "Replica",
    "SameReplicaError",
    "Standing",
    "TopicIdsDifferError",
    "TruncationPlan",
    "TruncationProtocol",
    "UnknownHighWatermarkError",
    "advise",
    "advise_replicas",
    "held_by_one",
    "open_replicas",
    "plan",
    "plan_metadata",
    "plan_replicas",
]
