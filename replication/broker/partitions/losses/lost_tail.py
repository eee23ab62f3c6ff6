"""Whether anybody counts on a log for the end that it has lost."""

from logstore.files.broker.lost_tail import LostTail
from replication.metadata.partition import LeaderRecoveryState, PartitionRegistration


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
