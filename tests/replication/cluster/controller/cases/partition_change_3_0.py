"""What changed in a partition under Kafka 3.0, where it differs from today.

A leader in the ISR stays even when its broker is gone, each ISR shrink raises the leader epoch, a reassignment is done
once what it adds is in sync, and an unclean election may keep the old ISR (fixed since). There is no recovery state,
no directory and no eligible leader replica.
"""

from collections.abc import Callable

from replication.records.leadership.partition_change import (
    AS_IT_IS,
    ChangedFields,
    Election,
    ReplicaIds,
    Target,
    without,
)
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import NO_LEADER


def partition_change_3_0(
    partition: PartitionRegistration,
    is_active: Callable[[int], bool],
    *,
    target: Target = AS_IT_IS,
    election: Election = Election.ONLINE,
) -> ChangedFields:
    """Return the fields that change, as Kafka 3.0.2 decides; see `partition_change`."""
    isr, replicas, removing, adding = _assignment(partition, target)
    changed: ChangedFields = {}
    if isr and isr != partition.isr:
        changed["isr"] = isr
    if _needs_election(partition, isr, election):
        _elect(changed, partition, is_active, isr, replicas, election)
    if "leader" not in changed and not (set(partition.isr) <= set(isr) and set(partition.replicas) <= set(replicas)):
        changed["leader"] = partition.leader
    if replicas and replicas != partition.replicas:
        changed["replicas"] = replicas
    if removing != partition.removing_replicas:
        changed["removing_replicas"] = removing
    if adding != partition.adding_replicas:
        changed["adding_replicas"] = adding
    return changed


def _assignment(
    partition: PartitionRegistration, target: Target
) -> tuple[ReplicaIds, ReplicaIds, ReplicaIds, ReplicaIds]:
    """Return ISR, replicas, removing and adding replicas, after a reassignment that completes."""
    isr = partition.isr if target.isr is None else target.isr
    replicas = partition.replicas if target.replicas is None else target.replicas
    removing = partition.removing_replicas if target.removing_replicas is None else target.removing_replicas
    adding = partition.adding_replicas if target.adding_replicas is None else target.adding_replicas
    if not (removing or adding):
        return isr, replicas, removing, adding
    final_isr, final_replicas = without(isr, removing), without(replicas, removing)
    if removing and not (final_isr and final_replicas):
        return isr, replicas, removing, adding
    if not set(adding) <= set(final_isr):
        return isr, replicas, removing, adding
    return final_isr, final_replicas, (), ()


def _needs_election(partition: PartitionRegistration, isr: ReplicaIds, election: Election) -> bool:
    is_preferred = partition.leader == partition.replicas[0]
    return partition.leader not in isr or (election is Election.PREFERRED and not is_preferred)


def _elect(
    changed: ChangedFields,
    partition: PartitionRegistration,
    is_active: Callable[[int], bool],
    isr: ReplicaIds,
    replicas: ReplicaIds,
    election: Election,
) -> None:
    active = [replica for replica in replicas if is_active(replica)]
    in_sync = [replica for replica in active if replica in isr]
    unclean = not in_sync and election is Election.UNCLEAN
    candidates = active if unclean else in_sync
    leader = candidates[0] if candidates else NO_LEADER
    if leader == partition.leader:
        return
    changed["leader"] = leader
    if unclean and leader != NO_LEADER and "isr" not in changed:
        changed["isr"] = (leader,)
