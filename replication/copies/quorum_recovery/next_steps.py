"""What to do with the advice: the steps of a restoration, in order, with commands to copy."""

import shlex
from collections.abc import Sequence
from typing import Final

from replication.base.next_step import Step
from replication.copies.quorum_recovery.decision import Decision
from replication.copies.quorum_recovery.doubts import controllers
from replication.copies.quorum_recovery.metadata_copy import MetadataCopy
from replication.copies.quorum_recovery.voter_set import Voter, VoterSet

ADDRESS: Final = "HOST:PORT"
"""Stands for a controller's address where no record names it."""
BROKER: Final = "BROKER:9092"
"""Stands for a broker's address."""
BACKUP: Final = "BACKUP"
"""Stands for a directory outside of all log.dirs: a broker refuses to start where it finds what it does not know."""
METADATA_LOG_DIR: Final = "METADATA_LOG_DIR"
"""Stands for a controller's `metadata.log.dir`, which is the first of its `log.dirs` unless set."""


def next_steps(copies: Sequence[MetadataCopy], decision: Decision) -> tuple[Step, ...]:
    """Return what to do once all copies are kept, up to seeing that the quorum has a leader again."""
    best = next((each for each in copies if each.name == decision.best), None)
    steps = []
    if not decision.is_complete:
        steps.append(_look_for_more(decision))
    if best is None:
        return tuple(steps)
    if decision.voters is not None and len(decision.at_hand) >= decision.voters.majority and decision.is_complete:
        steps.append(_start_what_is_there(decision))
    return (*steps, _restore(best, decision.voters), _mind_brokers(best, decision), _see(best, decision))


def back_up(copies: Sequence[MetadataCopy]) -> Step:
    """Return what comes before all else."""
    commands = tuple(f"cp -a {shlex.quote(str(each.path))} {BACKUP}/{shlex.quote(each.name)}" for each in copies)
    return Step("Keep what there is: copy each directory, with every controller stopped, out of log.dirs.", commands)


def _look_for_more(decision: Decision) -> Step:
    disks = f"the disks of {controllers(decision.missing)}, and " if decision.missing else ""
    return Step(
        f"Before you decide, look for {disks}brokers' log.dirs: a broker follows the metadata too, and its "
        "__cluster_metadata-0 may go further than any that is at hand. Name them to `epochlog advise` as well."
    )


def _start_what_is_there(decision: Decision) -> Step:
    return Step(
        f"If the disks of {controllers(decision.at_hand)} themselves are whole, start these as they are, and nothing "
        "else: they are a majority, elect one that has all that was committed, and need no restoration. Of a "
        "controller that lost its disk, start none with an empty one beside them, unless the voters are in the log "
        "and it is added again."
    )


def _restore(best: MetadataCopy, voters: VoterSet | None) -> Step:
    copy = f"cp -a {shlex.quote(str(best.path))} {METADATA_LOG_DIR}/"
    aside = f"mv {METADATA_LOG_DIR}/{best.path.name} {BACKUP}/"
    if voters is None or not voters.is_dynamic:
        named = f" names ({controllers(voters.voters)})" if voters else " names"
        return Step(
            f"To restore, have every controller that controller.quorum.voters{named} start with {best.name}'s "
            "directory, its quorum-state included: with all of them stopped, put a copy of it in the place of their "
            "own, and leave their meta.properties as they are. Leave none of them empty: two that are would elect each "
            "other, and all would be lost.",
            (aside, copy),
        )
    return Step(
        f"To restore, have at least {voters.majority} of the voters come back, whom the log names by their disks and "
        f"addresses: with all controllers stopped, put a copy of {best.name}'s directory, its quorum-state included, "
        "into the metadata.log.dir of each, beside a meta.properties that has its node.id and directory.id, the "
        "cluster.id, and version=1.",
        (*map(_identity, voters.voters), aside, copy),
    )


def _identity(voter: Voter) -> str:
    disk = f" directory.id={voter.directory_id}" if voter.directory_id else ""
    return f"# node.id={voter.node_id}{disk} at {', '.join(voter.endpoints) or ADDRESS}"


def _see(best: MetadataCopy, decision: Decision) -> Step:
    known = [endpoint.partition("://")[2] for voter in _voters(decision) for endpoint in voter.endpoints]
    address = shlex.quote(known[0] if known else ADDRESS)
    return Step(
        f"Check that they have a leader and that its high watermark is beyond {best.log.end_offset:,}: by the first "
        "command once a broker runs, and before that by Kafka's own, which asks a controller.",
        (
            f"epochlog cluster --bootstrap {BROKER}",
            f"kafka-metadata-quorum.sh --bootstrap-controller {address} describe --status",
        ),
    )


def _mind_brokers(best: MetadataCopy, decision: Decision) -> Step:
    if decision.is_complete:
        return Step(
            f"A broker whose own __cluster_metadata-0 has what {best.name} has not cannot follow: with the broker "
            "stopped, move that directory away. `epochlog plan` shows that, with the restored copy as the leader."
        )
    return Step(
        "Move the __cluster_metadata-0 of every broker away too, with the broker stopped: it may have followed a "
        "leader that these copies do not know, in the very epoch in which the restored controllers continue."
    )


def _voters(decision: Decision) -> tuple[Voter, ...]:
    return decision.voters.voters if decision.voters else ()
