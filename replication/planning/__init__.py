"""What replicas would truncate under which leader, and who should lead: decided from files, before it happens."""

from epoch import TruncationProtocol
from replication.errors import NothingInCommonError
from replication.planning.advice import Advice, Loss, Standing, advise, advise_replicas
from replication.planning.plan import Relation, TruncationPlan, plan, plan_replicas
from replication.planning.replica import Replica, open_replicas

__all__ = [
    "Advice",
    "Loss",
    "NothingInCommonError",
    "Relation",
    "Replica",
    "Standing",
    "TruncationPlan",
    "TruncationProtocol",
    "advise",
    "advise_replicas",
    "open_replicas",
    "plan",
    "plan_replicas",
]
