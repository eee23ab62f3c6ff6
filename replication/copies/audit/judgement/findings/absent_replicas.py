"""Replicas that are known to have everything, and are not at hand."""

from collections.abc import Iterator
from typing import Final

from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Reporter
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.foretold_election import ForetoldElection

ELIGIBLE_REPLICA_ABSENT: Final = "eligible-replica-absent"


def absent_findings(partition: TopicPartition, election: ForetoldElection) -> Iterator[ReplicaFinding]:
    """Report replicas in the ISR or the ELR that are not at hand, where none of these is."""
    if not election.lacks_everybody_eligible or election.foreseen is None:
        return
    for broker in election.foreseen.absent:
        has = f"has everything of {partition} that was acknowledged; of no replica that is at hand that is known"
        if election.foreseen.is_recovering:
            has = f"led {partition} last, elected uncleanly, and alone has what was written since"
        told = f"by the metadata, as {election.metadata_of} has it, broker {broker} {has}"
        message = f"{told}: find its disk before another leads"
        finding = Reporter(partition).error(ELIGIBLE_REPLICA_ABSENT, message, file=None)
        yield ReplicaFinding(f"broker {broker}", finding)
