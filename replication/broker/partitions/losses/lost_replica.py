"""Which replicas begin anew whose directory is gone, as its disk was replaced or taken out of the log.dirs."""

from replication.metadata.partition import PartitionRegistration


def begins_anew(broker_id: int, state: PartitionRegistration, *, alone: bool) -> bool:
    """Whether an empty log may stand for a broker's replica; `alone`: also for the only one, as in Kafka.

    One of several begins anew where another broker leads, and nobody counts on it: else it could be elected as one that
    has what is committed, and the others would be cut to nothing. Kafka's broker takes that risk.
    """
    if len(state.replicas) == 1:
        return alone
    return state.has_leader and broker_id not in (state.leader, *state.isr, *state.elr)
