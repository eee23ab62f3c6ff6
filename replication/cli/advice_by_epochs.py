"""The output of `epochlog advise --epochs-only`, which reads no records and reports that."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from replication.cli.comparison import Failures, name_what_is_left_out, name_what_is_missing, tell_of_damage
from replication.cli.output import EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, print_json, print_table
from replication.cli.quorum_report import print_quorum, status_of

if TYPE_CHECKING:
    from replication.audit.local_judging import Missing
    from replication.planning import Advice, Replica, Standing
    from replication.quorum_recovery import QuorumAdvice

NOT_READ: Final = (
    "the records were not read (--epochs-only): what follows is by leader epochs alone; the contents of "
    "the copies, and damage to them, are not known"
)


def advise_by_epochs(
    replicas: Sequence["Replica"],
    missing: "Missing",
    failures: Failures,
    quorum: "QuorumAdvice | None",
    *,
    json: bool,
) -> int:
    """Print how the replicas compare by leader epochs, and the advice on the quorum; return the exit status."""
    from replication.metadata_partition import METADATA_PARTITION
    from replication.planning import advise_replicas

    every = advise_replicas(replicas, on_error=failures)
    advice = [each for each in every if (each.topic, each.partition) != METADATA_PARTITION]
    left_out = name_what_is_left_out(replicas, {METADATA_PARTITION})
    lacking = name_what_is_missing(missing)
    for each in advice:
        _tell_of_damage(each)
    if json:
        print_json(
            {
                "epochs_only": True,
                "partitions": [],
                "by_epochs": [each.as_json() for each in advice],
                "quorum": quorum and quorum.as_json(),
                "findings": [],
                "not_compared": left_out,
                "missing": lacking,
                "errors": failures.as_json(),
            }
        )
    else:
        if quorum:
            print_quorum(quorum)
        _print(advice)
    if failures.matter(advice):
        return max(EXIT_FAILED, status_of(quorum))
    is_finding = missing or any(_loses(each) or _damaged(each) for each in advice)
    return max(EXIT_FINDINGS if is_finding else EXIT_CLEAN, status_of(quorum))


def _tell_of_damage(advice: "Advice") -> None:
    for standing in advice.replicas:
        leads = ", with the latest epoch and the longest log," if standing.replica == advice.recommended else ""
        tell_of_damage(_partition(advice), f"{standing.replica}{leads}", standing.damage)


def _print(advice: Sequence["Advice"]) -> None:
    print(NOT_READ)
    disputed = [each for each in advice if _loses(each) or _damaged(each)]
    agreed = [_partition(each) for each in advice if each not in disputed]
    if disputed:
        print_table(
            "Who should lead, by leader epochs",
            (
                "partition",
                "latest epoch, longest log",
                "if this leads",
                "last epoch",
                "end offset",
                "truncated by the others",
            ),
            [
                (
                    _partition(each),
                    _named(each, each.recommended),
                    _named(each, standing.replica),
                    standing.last_epoch,
                    standing.end_offset,
                    _losses(standing),
                )
                for each in disputed
                for standing in each.replicas
            ],
        )
    if agreed:
        print(f"nothing is truncated by leader epochs, whichever leads: {', '.join(agreed)}")


def _partition(advice: "Advice") -> str:
    return f"{advice.topic}-{advice.partition}"


def _named(advice: "Advice", replica: str) -> str:
    """Name a replica, never without its damage."""
    damaged = {standing.replica for standing in advice.replicas if standing.damage}
    return f"{replica} (damaged)" if replica in damaged else replica


def _damaged(advice: "Advice") -> bool:
    return any(standing.damage for standing in advice.replicas)


def _loses(advice: "Advice") -> bool:
    return any(loss.records_lost for standing in advice.replicas for loss in standing.lost.values())


def _losses(standing: "Standing") -> str:
    lost = [
        f"{other}: {loss.records_lost} records, {loss.bytes_lost} bytes from {loss.truncate_to} on"
        for other, loss in standing.lost.items()
        if loss.records_lost
    ]
    return "; ".join(lost) or "none by leader epochs"
