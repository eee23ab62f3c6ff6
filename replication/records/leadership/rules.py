"""Which rules a cluster plays by: what its finalised features switch on and off."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, MetadataVersion

ELR_FEATURE: Final = "eligible.leader.replicas.version"


@dataclass(frozen=True, slots=True)
class Rules:
    """How brokers and partitions may change; the defaults are those of Kafka 4.3."""

    metadata_version: int = LATEST_METADATA_VERSION
    """The finalised level of metadata.version."""
    elr: bool = False
    """Keep eligible leader replicas: an empty ISR is legal, and its last members may lead without loss (KIP-966)."""
    last_known_leader: bool = True
    """With `elr`: once ISR and ELR are empty, elect who led last."""
    keep_reassigned_eligible: bool = False
    """With `elr`: keep who is reassigned away eligible, as Kafka does, which would let it lead once it is added again:
    without what is committed, as it has deleted its log."""
    cancel_past_eligible: bool = False
    """With `elr`: cancel a reassignment, as Kafka does, also where that puts a replica in sync that lacks records which
    eligible replicas have: it would lead without them, as if it had been elected cleanly."""

    @property
    def leader_recovery(self) -> bool:
        """Whether a partition says that its leader was elected uncleanly and recovers (KIP-704)."""
        return self.metadata_version >= MetadataVersion.V3_2_IV0

    @property
    def registration_changes(self) -> bool:
        """Whether brokers are fenced by BrokerRegistrationChangeRecords."""
        return self.metadata_version >= MetadataVersion.V3_3_IV2

    @property
    def controlled_shutdown_state(self) -> bool:
        """Whether the log says that a broker is in controlled shutdown (KIP-841)."""
        return self.metadata_version >= MetadataVersion.V3_3_IV3

    @property
    def bump_on_shrink(self) -> bool:
        """Whether an ISR that loses a member raises the leader epoch (KAFKA-15021)."""
        return self.metadata_version < MetadataVersion.V3_6_IV0

    @property
    def directories(self) -> bool:
        """Whether a partition says in which directory each replica lies (KIP-858)."""
        return self.metadata_version >= MetadataVersion.V3_7_IV2

    @property
    def cordoned_directories(self) -> bool:
        """Whether a broker may keep new replicas out of a directory."""
        return self.metadata_version >= MetadataVersion.V4_3_IV0


def rules_of(metadata_version: int, features: Mapping[str, int], *, as_kafka: bool = False) -> Rules:
    """Return the rules that the finalised levels of features prescribe.

    With `as_kafka` also those by which Kafka's controller loses committed records, and ours by default does not.
    """
    elr = features.get(ELR_FEATURE, 0) > 0
    return Rules(metadata_version, elr=elr, keep_reassigned_eligible=as_kafka, cancel_past_eligible=as_kafka)
