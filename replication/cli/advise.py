"""`epochlog advise`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.cli.comparison import Failures, name_what_is_left_out, tell_of_damage
from replication.cli.output import EXIT_FAILED, EXIT_FINDINGS, JsonOption, print_json, print_table

if TYPE_CHECKING:
    from replication.planning import Advice, Standing


def advise(
    roots: Annotated[list[Path], typer.Argument(metavar="ROOT ROOT...", help="The replicas' log.dirs roots.")],
    *,
    json: JsonOption = False,
) -> None:
    """Say which replica should lead each partition, and what each choice loses.

    Exit status 1 where any choice loses records, for the replicas do not agree, or where one is damaged; 2 where a
    partition could not be judged.

    Example: epochlog advise broker-1 broker-2 broker-3
    """
    from replication.planning import advise_replicas, open_replicas

    if len(roots) < 2:
        raise typer.BadParameter("name at least two roots: advice compares replicas", param_hint="ROOT ROOT...")
    failures = Failures()
    replicas = open_replicas(roots, on_error=failures)
    advice = advise_replicas(replicas, on_error=failures)
    left_out = name_what_is_left_out(replicas)
    for each in advice:
        _tell_of_damage(each)
    if json:
        documents = [each.as_json() for each in advice]
        print_json({"partitions": documents, "not_compared": left_out, "errors": failures.as_json()})
    else:
        _print(advice)
    if failures.matter(advice):
        raise typer.Exit(EXIT_FAILED)
    if any(_loses(each) or _damaged(each) for each in advice):
        raise typer.Exit(EXIT_FINDINGS)


def _tell_of_damage(advice: "Advice") -> None:
    for standing in advice.replicas:
        leads = ", the recommended leader," if standing.replica == advice.recommended else ""
        tell_of_damage(_partition(advice), f"{standing.replica}{leads}", standing.damage)


def _print(advice: Sequence["Advice"]) -> None:
    disputed = [each for each in advice if _loses(each) or _damaged(each)]
    agreed = [_partition(each) for each in advice if each not in disputed]
    if disputed:
        print_table(
            "Who should lead",
            ("partition", "recommended", "if this leads", "last epoch", "end offset", "lost by the others"),
            [
                (
                    _partition(each),
                    each.recommended,
                    standing.replica + (" (damaged)" if standing.damage else ""),
                    standing.last_epoch,
                    standing.end_offset,
                    _losses(standing),
                )
                for each in disputed
                for standing in each.replicas
            ],
        )
    if agreed:
        print(f"any replica may lead, nothing is lost: {', '.join(agreed)}")


def _partition(advice: "Advice") -> str:
    return f"{advice.topic}-{advice.partition}"


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
    return "; ".join(lost) or "nothing"
