"""Which controller's copy of the metadata to restore a quorum from, and what each choice would forget."""

from replication.base.errors import NoMetadataError
from replication.base.next_step import Step
from replication.copies.quorum_recovery.metadata_copy import Effect, Fault, MetadataCopy
from replication.copies.quorum_recovery.quorum_advice import CopyStanding, QuorumAdvice, advise_quorum
from replication.copies.quorum_recovery.reading import read_copy
from replication.copies.quorum_recovery.voter_set import Voter, VoterSet, VotersSource

__all__ = [
    "CopyStanding",
    "Effect",
    "Fault",
    "MetadataCopy",
    "NoMetadataError",
    "QuorumAdvice",
    "Step",
    "Voter",
    "VoterSet",
    "VotersSource",
    "advise_quorum",
    "read_copy",
]
