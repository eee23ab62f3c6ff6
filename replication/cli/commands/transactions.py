"""`epochlog transactions`."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from replication.base.chosen_topics import is_chosen
from replication.base.counted import counted
from replication.cli.judging.comparison import Failures, name_what_is_left_out
from replication.cli.output.failure import CommandError, MissingPackageError, UsageError
from replication.cli.output.printing import (
    EXIT_FAILED,
    EXIT_FINDINGS,
    JsonOption,
    complain,
    print_json,
    shown,
    told,
)
from replication.cli.output.prose import wrapped
from replication.cli.settings.connection import CommandConfig, client_settings
from replication.cli.settings.topics_option import TopicsOption, chosen_topics

if TYPE_CHECKING:
    from replication.cluster.transactions.ending import Ended
    from replication.cluster.transactions.search import Found
    from replication.copies.transactions.broken_transaction import BrokenTransaction
    from replication.copies.transactions.broken_transactions import ComparedTransactions

_PLACEHOLDER: Final = "BROKER:9092"


def transactions(
    copies: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR...]",
            readable=False,
            help="Copies of brokers' log.dirs roots, or directories that hold those of one broker or of several.",
        ),
    ] = None,
    *,
    kept: Annotated[
        str | None,
        typer.Option(
            metavar="BROKER",
            help="The copy that was kept: the name of its directory, its node.id, or one of the DIRs.",
            show_default=False,
        ),
    ] = None,
    bootstrap: Annotated[
        str | None,
        typer.Option(
            "--bootstrap",
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="Check a running cluster instead; brokers to connect to first.",
            show_default=False,
        ),
    ] = None,
    topics: TopicsOption = None,
    max_transaction_timeout: Annotated[
        int | None,
        typer.Option(
            "--max-transaction-timeout",
            metavar="MINUTES",
            min=0,
            help="Transactions of producers that no coordinator knows hang if their records are older; 15 is the "
            "brokers' default. Only for a user who may describe all transactional ids.",
            show_default=False,
        ),
    ] = None,
    abort: Annotated[
        bool, typer.Option("--abort", help="End the transactions that hang, by abort markers, after confirmation.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --abort: only report what would be ended.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --abort: do not ask for confirmation.")] = False,
    command_config: CommandConfig = None,
    json: JsonOption = False,
) -> None:
    """Find transactions that nobody will end, on a running cluster, or that an unclean election broke, in copies.

    On a cluster: open transactions that no coordinator will end, as kafka-transactions find-hanging does; consumers of
    committed records cannot read past them. --abort ends only those of which this is certain. In copies: transactions
    whose end, beginning or records were cut off, and those that two copies decide differently.

    Exit status 1 if any is found, or is left open; 2 if something could not be checked.

    Examples:
      epochlog transactions --bootstrap broker1:9092
      epochlog transactions --bootstrap broker1:9092 --abort --dry-run
      epochlog transactions broker-1 broker-2 --kept broker-2
    """
    if bool(copies) is (bootstrap is not None):
        raise UsageError("name either copies (DIR...) or a cluster (--bootstrap)")
    if copies:
        if kept is None:
            raise typer.BadParameter("name the copy that was kept", param_hint="--kept")
        if abort or dry_run:
            raise typer.BadParameter(
                "a transaction is ended on a running cluster: add --bootstrap", param_hint="--abort"
            )
        _compare(copies, kept, chosen_topics(topics), json=json)
    elif bootstrap is not None:
        if kept is not None:
            raise typer.BadParameter("it belongs to copies (DIR...)", param_hint="--kept")
        if dry_run and not abort:
            raise typer.BadParameter("add --abort: without, nothing is changed anyway", param_hint="--dry-run")
        _search(
            bootstrap,
            command_config,
            chosen_topics(topics),
            None if max_transaction_timeout is None else max_transaction_timeout * 60_000,
            abort=abort and not dry_run,
            yes=yes,
            json=json,
        )


def _search(
    bootstrap: str,
    command_config: Path | None,
    topics: list[str],
    max_timeout_ms: int | None,
    *,
    abort: bool,
    yes: bool,
    json: bool,
) -> None:
    try:
        from replication.cluster.transactions.cluster import abort_hanging, find_hanging
        from replication.wire.client.cluster_client import ClusterClient
    except ModuleNotFoundError as error:
        raise MissingPackageError("connecting to a cluster needs", error, "wire") from error

    with ClusterClient(bootstrap, client_settings(command_config)) as client:
        find = partial(
            find_hanging,
            client,
            topics=lambda name: is_chosen(name, topics),
            max_transaction_timeout_ms=max_timeout_ms,
        )
        found = find()
        for gap in found.gaps:
            complain(str(gap))
        if not json:
            for line in _found_lines(found, bootstrap, with_commands=not abort):
                print(line)
        ended: tuple[Ended, ...] = ()
        if abort and found.hanging:
            _confirm(found, yes=yes)
            # Whoever was asked may have taken hours, and a producer may have gone on meanwhile.
            ended = abort_hanging(client, found.hanging if yes else found.still_hanging(find()))
    failed = [each for each in ended if each.error is not None]
    if json:
        print_json(
            {
                "transactions": [each.as_json() for each in found.transactions],
                "gaps": [gap._asdict() for gap in found.gaps],
                "ended": [each.as_json() for each in ended],
            }
        )
    for each in ended:
        _tell_end(each, json=json)
    if failed or found.gaps:
        raise typer.Exit(EXIT_FAILED)
    if len(ended) < len(found.transactions):
        raise typer.Exit(EXIT_FINDINGS)


def _confirm(found: "Found", *, yes: bool) -> None:
    """Ask whether the transactions are to be ended. Raises CommandError where the answer is not yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask for confirmation on: add --yes, or --dry-run to only look")
    print(f"Abort {counted(len(found.hanging), 'transaction')}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise CommandError("nothing was ended: the answer was not yes")


def _tell_end(ended: "Ended", *, json: bool) -> None:
    if ended.error is not None:
        complain(f"{ended.transaction}: {ended.error}")
    elif not json:
        for line in wrapped(f"Aborted: {ended.transaction}."):
            print(line)


def _found_lines(found: "Found", bootstrap: str, *, with_commands: bool) -> Iterator[str]:
    from replication.cluster.transactions.judged_transaction import Verdict
    from replication.copies.audit.judgement.cluster_commands import abort_transaction

    if not found.transactions:
        yield "No open transaction." if not found.gaps else "No open transaction in what could be looked at."
        return
    by_verdict = {verdict: [each for each in found.transactions if each.verdict is verdict] for verdict in Verdict}
    for verdict, judged in by_verdict.items():
        if judged:
            yield f"{counted(len(judged), 'open transaction')} {_MEANINGS[verdict.value]}:"
        for each in judged:
            yield from wrapped(f"{each.transaction}: {each.reason}", "    ", "  ")
            if verdict is Verdict.HANGING and with_commands:
                first = each.transaction.first_offset
                yield f"      {abort_transaction({**each.transaction.as_json(), 'first_offset': first}, bootstrap)}"
    if by_verdict[Verdict.HANGING] and with_commands:
        yield "End those that hang with the commands above, or all of them with --abort."


_MEANINGS: Final = {
    "hanging": "that nobody will end",
    "ongoing": "that will be ended",
    "unproven": "that may or may not be ended",
}


def _compare(copies: list[Path], kept: str, topics: list[str], *, json: bool) -> None:
    from replication.copies.salvage.salvage_plan import plan_salvage
    from replication.copies.transactions.broken_transactions import find_broken

    failures = Failures()
    plan = plan_salvage(copies, kept, topics=topics, on_error=failures)
    compared = list(find_broken(plan, topics=topics, on_error=failures))
    broken = [each for partition in compared for each in partition.broken]
    left_out = name_what_is_left_out(plan.replicas, [each.partition for each in compared])
    if lacking := [each for each in plan.lacking if is_chosen(each.topic, topics)]:
        complain(f"not compared, since {plan.kept} does not hold them: {', '.join(map(str, lacking))}")
    for partition in compared:
        for replica, damage in partition.damage.items():
            complain(f"{partition.partition}: {replica} is not read behind its damage: {told(damage)}")
        for replica, damage in partition.damage_below.items():
            complain(f"{partition.partition}: {replica} is damaged below the fork: {told(damage)}")
    if json:
        print_json(
            {
                "kept": plan.kept,
                "partitions": len(compared),
                "transactions": [each.as_json() for each in broken],
                "damaged": [_damage(each) for each in compared if each.is_damaged],
                "not_compared": left_out,
                "errors": failures.as_json(),
            }
        )
    else:
        for line in _broken_lines(broken, plan.kept, len(compared)):
            print(line)
    if failures.matter(compared):
        raise typer.Exit(EXIT_FAILED)
    if broken or any(each.is_damaged for each in compared):
        raise typer.Exit(EXIT_FINDINGS)


def _damage(compared: "ComparedTransactions") -> dict[str, object]:
    damage = {**compared.damage_below, **compared.damage}
    return {**compared.partition._asdict(), "replicas": {name: told(each) for name, each in damage.items()}}


def _broken_lines(broken: "list[BrokenTransaction]", kept: str, partitions: int) -> Iterator[str]:
    from replication.copies.audit.judgement.cluster_commands import abort_transaction

    if not broken:
        yield f"No broken transaction in {counted(partitions, 'partition')}."
        return
    yield f"{counted(len(broken), 'broken transaction')} in {counted(partitions, 'partition')}:"
    for each in broken:
        yield from wrapped(_sentence(each, kept), "    ", "  ")
        if each.is_open:
            command = abort_transaction({**each.as_json(), "first_offset": each.kept_offset}, _PLACEHOLDER)
            yield f"      {shown(command)}"
    if any(each.is_open for each in broken):
        yield from wrapped(
            "Those that are open hang if no coordinator ends them: on the cluster, epochlog transactions --bootstrap "
            f"{_PLACEHOLDER} reports that, and with --abort ends them. Of one that the other copy has committed, "
            "epochlog salvage then brings the records back."
        )


def _sentence(broken: "BrokenTransaction", kept: str) -> str:
    whose = (
        f"{broken.partition}: producer {broken.producer_id} (epoch {broken.producer_epoch}), offsets "
        f"{broken.first_offset:,} to {broken.last_offset:,} of {broken.replica}"
    )
    here = f"{kept}, which diverges at {broken.fork:,}"
    end = f"{broken.replica} has {broken.outcome.value} it"
    match broken.kind.value:
        case "end-cut-off":
            what = f"{end} at {broken.end_offset:,}; in {here}, it is open, and consumers of committed records wait"
        case "decided-differently":
            what = (
                f"{end} at {broken.end_offset:,}; {here}, has {broken.kept_outcome.value} it at {broken.kept_offset:,}"
            )
        case "part-cut-off":
            became = "may still be" if broken.is_open else "was"
            what = f"in {here}, it {became} committed without what lies beyond that"
        case "beginning-cut-off":
            what = f"{here}, has only later records of it, and it is {broken.kept_outcome.value} there"
        case _:
            what = f"{here}, has none of its records, and its commit at {broken.kept_offset:,}"
    return f"{whose}: {what}."
