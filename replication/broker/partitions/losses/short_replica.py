"""Whether a replica may be used that has less than its broker's checkpoint files have said of it."""

from logstore.directory.shortfalls.shortfall import Shortfall
from replication.metadata.partition import PartitionRegistration


def may_be_used(
    broker_id: int, state: PartitionRegistration, short: Shortfall, *, unclean_allowed: bool = False
) -> bool:
    """Whether nobody takes such a replica for one that has all that is committed.

    One of several follows whoever leads as soon as it is not counted on: it has caught up before it is in sync again.
    What the only one lacks nobody has: but where it was on stable storage it may be found again. One whose directory
    is gone waits for a leader: an empty log is made then. So does any where an unclean election is allowed, by which it
    would lead as it is as soon as it is there.
    """
    if len(state.replicas) == 1:
        return not short.lacks_flushed
    waits = not state.has_leader and (short.is_gone or unclean_allowed)
    return not waits and not is_counted_on(broker_id, state)


def is_counted_on(broker_id: int, state: PartitionRegistration) -> bool:
    """Whether a broker leads, or may be elected, as one that has all that is committed (KIP-966).

    The last known leader is elected where nobody else is eligible, though it may have lost something.
    """
    is_last_known = not state.has_leader and not (state.isr or state.elr) and state.last_known_elr == (broker_id,)
    return is_last_known or broker_id in (state.leader, *state.isr, *state.elr)
