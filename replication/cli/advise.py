"""`epochlog advise`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.cli.output import EXIT_FINDINGS, JsonOption, print_json, print_table

if TYPE_CHECKING:
    from replication.planning import Advice


def advise(
    roots: Annotated[list[Path], typer.Argument(metavar="ROOT ROOT...", help="The replicas' log.dirs roots.")],
    *,
    json: JsonOption = False,
) -> None:
    """Say which replica should lead each partition, and what each choice loses.

    Exit status 1 where any choice loses records: the replicas do not agree.

    Example: epochlog advise broker-1 broker-2 broker-3
    """
    from replication.planning import advise_replicas, open_replicas

    if len(roots) < 2:
        raise typer.BadParameter("name at least two roots: advice compares replicas", param_hint="ROOT ROOT...")
    advice = advise_replicas(open_replicas(roots))
    if json:
        print_json([each.as_json() for each in advice])
    else:
        _print(advice)
    if any(loss.records_lost for each in advice for standing in each.replicas for loss in standing.lost.values()):
        raise typer.Exit(EXIT_FINDINGS)


def _print(advice: Sequence["Advice"]) -> None:
    print_table(
        "Who should lead",
        ("partition", "recommended", "if this leads", "last epoch", "end offset", "lost by the others"),
        [
            (
                f"{each.topic}-{each.partition}",
                each.recommended,
                standing.replica,
                standing.last_epoch,
                standing.end_offset,
                "; ".join(
                    f"{other}: {loss.records_lost} records, {loss.bytes_lost} bytes from {loss.truncate_to} on"
                    for other, loss in standing.lost.items()
                    if loss.records_lost
                )
                or "nothing",
            )
            for each in advice
            for standing in each.replicas
        ],
    )
