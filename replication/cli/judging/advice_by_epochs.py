"""The output of `epochlog advise --epochs-only`, which reads no records and reports that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from replication.cli.judging.comparison import Failures, name_what_is_left_out, name_what_is_missing, tell_of_damage
from replication.cli.judging.quorum_report import print_quorum, status_of
from replication.cli.output.printing import EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, print_json, print_line, print_table

if TYPE_CHECKING:
    from replication.copies.audit.local_judging import Missing
    from replication.copies.audit.snapshots.foretold_election import ForetoldElection
    from replication.copies.planning.advice import Advice, Standing
    from replication.copies.planning.replica import Replica
    from replication.copies.quorum_recovery.quorum_advice import QuorumAdvice

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
    """Print how the replicas compare by leader epochs, whom Kafka elects, and the advice on the quorum.

    Returns the exit status.
    """
    from replication.base.metadata_partition import METADATA_PARTITION

    advice = [*_advised(replicas, missing, failures)]
    left_out = name_what_is_left_out(replicas, {*missing, METADATA_PARTITION})
    lacking = name_what_is_missing(missing)
    for each in advice:
        _tell_of_damage(each.advice)
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
    is_finding = missing or any(each.is_disputed for each in advice)
    return max(EXIT_FINDINGS if is_finding else EXIT_CLEAN, status_of(quorum))


@dataclass(frozen=True, slots=True)
class _Foretold:
    """The advice on a partition, and whom Kafka elects."""

    advice: "Advice"
    election: "ForetoldElection"
    missing: tuple[str, ...]
    """Replicas that should have a copy and have none."""

    @property
    def is_disputed(self) -> bool:
        """Whether it matters who leads, as far as leader epochs and the metadata show, or a copy is damaged."""
        begin_empty = {*self.missing}.intersection(self.election.leaders)
        lacks = bool(begin_empty) or self.election.lacks_everybody_eligible
        return lacks or _loses(self.advice) or _damaged(self.advice)

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog advise --json` prints it."""
        return {
            **self.advice.as_json(),
            "kafkas_choice": self.election.leader,
            "election": self.election.as_json(),
            "missing": list(self.missing),
        }


def _advised(replicas: Sequence["Replica"], missing: "Missing", failures: Failures) -> Iterator[_Foretold]:
    from logstore import TopicPartition
    from replication.base.metadata_partition import METADATA_PARTITION
    from replication.copies.audit.local_judging import foretelling_among
    from replication.copies.planning.advice import advise_replicas

    foretelling = foretelling_among(replicas)
    for each in advise_replicas(replicas, missing, on_error=failures):
        place = TopicPartition(each.topic, each.partition)
        if place != METADATA_PARTITION:
            found = _Foretold(each, foretelling.of(place), missing.get(place, ()))
            yield found if found.is_disputed else replace(found, election=found.election.without_orders())


def _tell_of_damage(advice: "Advice") -> None:
    for standing in advice.replicas:
        leads = ", with the latest epoch and the longest log," if standing.replica == advice.recommended else ""
        tell_of_damage(_partition(advice), f"{standing.replica}{leads}", standing.damage)


def _print(foretold: Sequence[_Foretold]) -> None:
    from replication.copies.audit.judgement.elected import (
        absent_in_words,
        is_told,
        kafka_in_words,
        leaders_in_words,
        untold_in_words,
    )

    print(NOT_READ)
    partitions = {_partition(each.advice): each.as_json() for each in foretold}
    for line in untold_in_words([*partitions.values()]):
        print_line(line)
    disputed = [each.advice for each in foretold if each.is_disputed]
    for name in map(_partition, disputed):
        told = partitions[name]
        if is_told(told):
            print_line(f"{name}: {'; '.join(filter(None, [absent_in_words(told), kafka_in_words(told)]))}")
    if disputed:
        print_table(
            "Who should lead, by leader epochs",
            (
                "partition",
                "Kafka elects",
                "latest epoch, longest log",
                "if this leads",
                "last epoch",
                "end offset",
                "truncated by the others",
            ),
            [
                (
                    _partition(each),
                    leaders_in_words(partitions[_partition(each)]),
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
    agreed = [_partition(each.advice) for each in foretold if not each.is_disputed]
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
