"""Where an append comes from, which decides what is checked."""

from enum import Enum


class AppendOrigin(Enum):
    """Where batches come from (Kafka: AppendOrigin)."""

    CLIENT = "client"
    """A producer: everything is checked, sequence numbers included."""
    COORDINATOR = "coordinator"
    """The transaction coordinator: control batches are allowed, epochs are checked, sequence numbers are not."""
    REPLICATION = "replication"
    """The partition's leader has checked all of it, and this follower takes it as it is."""
