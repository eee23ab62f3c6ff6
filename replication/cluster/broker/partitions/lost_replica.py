"""What may become of a replica that has lost something: whether it begins anew, or is used, and who counts on it."""

from logstore.directory.shortfalls.shortfall import Shortfall
from logstore.files.broker.lost_tail import LostTail
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration


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


def has_vanished(broker_id: int, state: PartitionRegistration) -> bool:
    """Whether a replica must have had a log, in a root that the metadata assigns it to and that lacks its own files.

    Who is in the ISR or eligible, or led last, was in sync once, and so had a log, but for a partition that is still as
    it was made. Who led last counts also while others are eligible: it is elected once these turn out to be short.

    Of a root that has its files it says nothing: a partition may have been made in sync on a broker that stopped or
    died before it knew, and begins there.
    """
    return not is_as_made(state) and broker_id in (state.leader, *state.isr, *state.elr, *state.last_known_elr)


def is_as_made(state: PartitionRegistration) -> bool:
    """Whether nothing has become of a partition yet: nobody but its first leader may have had records."""
    return state.leader_epoch == state.partition_epoch == 0


def is_tail_counted_on(lost: LostTail, broker_id: int, state: PartitionRegistration) -> bool:
    """Whether records count as committed by what a broker's replica had.

    As a follower until the leader, from which it does not fetch meanwhile, has taken it out of the ISR, and the
    controller, which may elect it, out of the ELR (KIP-966). As the leader until it is elected uncleanly: any other
    election takes it for one that has them, and followers would be cut to what it has. One that was in doubt when the
    tail was lost stays so through clean elections: it says nothing of later ones.
    """
    if state.leader == broker_id:
        is_unclean = state.leader_recovery_state == LeaderRecoveryState.RECOVERING and not lost.was_recovering
        return state.leader_epoch <= lost.leader_epoch or not is_unclean
    return broker_id in state.isr or broker_id in state.elr


def begins_anew(broker_id: int, state: PartitionRegistration, *, alone: bool) -> bool:
    """Whether an empty log may stand for a broker's replica; `alone`: also for the only one, as in Kafka.

    One of several begins anew where another broker leads, and nobody counts on it: else it could be elected as one that
    has what is committed, and the others would be cut to nothing. Kafka's broker takes that risk.
    """
    if len(state.replicas) == 1:
        return alone
    return state.has_leader and broker_id not in (state.leader, *state.isr, *state.elr)
