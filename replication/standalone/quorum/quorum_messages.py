"""What a log says of a quorum with one voter, when that begins to lead (KIP-595, KIP-853)."""

from collections.abc import Sequence
from typing import Final

from replication.codec.fields import NO_ID
from replication.metadata.records.control import (
    ControlMessage,
    ElectionVoter,
    KRaftVersion,
    KRaftVersionRange,
    LeaderChange,
    Voter,
    VoterEndpoint,
    Voters,
)
from replication.standalone.quorum.led_quorum import KRAFT_VERSION, LedQuorum

_LEADER_CHANGE: Final = 0
"""Kafka 4.4 reads no other version, whatever it says (ControlRecordUtils.LEADER_CHANGE_CURRENT_VERSION)."""


def quorum_messages(quorum: LedQuorum, listener: str) -> Sequence[ControlMessage]:
    """Say who leads, and that there is no other voter; `listener` is the name of where it listens."""
    directory_id = quorum.directory_id or NO_ID
    elected = (ElectionVoter(voter_id=quorum.node_id),)
    voter = Voter(
        voter_id=quorum.node_id,
        voter_directory_id=directory_id,
        endpoints=(VoterEndpoint(name=listener, host=quorum.address.host, port=quorum.address.port),),
        k_raft_version_feature=KRaftVersionRange(min_supported_version=0, max_supported_version=KRAFT_VERSION),
    )
    return (
        LeaderChange(version=_LEADER_CHANGE, leader_id=quorum.node_id, voters=elected, granting_voters=elected),
        KRaftVersion(k_raft_version=KRAFT_VERSION),
        Voters(voters=(voter,)),
    )
