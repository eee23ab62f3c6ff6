"""What replicas would truncate under which leader, and who should lead: decided from files, before it happens."""

from epoch import TruncationProtocol
from replication.errors import (
    NoEpochLeftError,
    NothingInCommonError,
    PartitionVanishedError,
    SameReplicaError,
    TopicIdsDifferError,
    UnknownHighWatermarkError,
)
from replication.planning.advice import Advice, Loss, Standing, advise, advise_replicas
from replication.planning.damage import Damage
from replication.planning.plan import Relation, TruncationPlan, plan, plan_replicas
from replication.planning.replica import Replica, held_by_one, open_replicas

__all__ = [
    "Advice",
    "Damage",
    "Loss",
    "NoEpochLeftError",
    "NothingInCommonError",
    "PartitionVanishedError",
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
    "plan_replicas",
]
