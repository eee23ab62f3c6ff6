"""What the cluster's metadata says of a partition, as far as it tells what its copies are worth."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from logstore.topic_partition import TopicPartition
from replication.audit.snapshots.foretold_election import UNTOLD, ForetoldElection


@dataclass(frozen=True, slots=True)
class Registered:
    """One partition, by the newest metadata that a copy holds."""

    topic_id: str | None
    """As `partition.metadata` writes it: a broker takes a log with another for stray, and begins an empty one. None
    where the metadata has no such partition, or could not be read."""
    alone: Mapping[str, int] = field(default_factory=dict)
    """By replica the latest leader epoch that it led and ended as the only one in sync: its log was acknowledged."""
    is_tiered: bool = True
    """Whether remote storage may have the beginning of its logs (KIP-405): taken for so where nothing says it."""
    election: ForetoldElection = UNTOLD
    """Whom the controller elects once brokers start."""


Registrations = Mapping[TopicPartition, Registered]
