"""`epochlog plan`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epoch import TruncationProtocol
from replication.cli.judging.asked_cluster import asking
from replication.cli.judging.comparison import Failures, name_what_is_left_out, name_what_is_missing, tell_of_damage
from replication.cli.output.printing import (
    EXIT_CRITICAL,
    EXIT_FAILED,
    EXIT_FINDINGS,
    JsonOption,
    complain,
    print_json,
    print_table,
)
from replication.cli.output.prose import wrapped
from replication.cli.settings.connection import AskOption, CommandConfig

if TYPE_CHECKING:
    from replication.copies.planning.truncation_plan import TruncationPlan


def plan(
    *,
    leader: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The leader's partition directory, its log.dirs root, or a directory that holds its several roots.",
        ),
    ],
    follower: Annotated[Path, typer.Option(metavar="DIR", help="The follower's.")],
    protocol: Annotated[
        TruncationProtocol,
        typer.Option(
            metavar="GENERATION",
            help="The generation of Kafka's truncation protocol: high-watermark, kip-101 or kip-320.",
        ),
    ] = TruncationProtocol.KIP_320,
    ask: AskOption = None,
    command_config: CommandConfig = None,
    json: JsonOption = False,
) -> None:
    """Report what the follower would truncate, before it happens.

    The leader is taken as just elected, with a fresh epoch at its log end. With --ask the running cluster says whether
    it can be, and how much of what is lost is committed. Exit status 1 if records would be lost, the logs have forked,
    or one is damaged or lacks partitions that it should have; 2 if a partition could not be judged; 3 if committed
    records are lost.

    Examples:
      epochlog plan --leader broker-1 --follower broker-2
      epochlog plan --leader broker-1/orders-0 --follower broker-2/orders-0 --protocol kip-101
      epochlog plan --leader broker-1 --follower broker-2 --ask broker3:9092
    """
    from replication.copies.audit.local_judging import missing_among
    from replication.copies.planning.answered_plan import AnsweredPlan
    from replication.copies.planning.named_roots import open_directories
    from replication.copies.planning.plan import plan_replicas
    from replication.copies.planning.replica import in_common, open_replicas

    for named in (leader, follower):
        open_directories(named)  # where that is several brokers, it is not said which of them is meant
    failures = Failures()
    leading, following = open_replicas([leader, follower], on_error=failures)
    with asking(ask, command_config) as cluster:
        cluster.about(in_common([leading, following]), [leading, following])
        plans = plan_replicas(leading, following, protocol, on_error=failures)
        answers = cluster.with_ends()
    answered = [AnsweredPlan.of(each, answers.get(each.topic_partition), leading, following) for each in plans]
    left_out = name_what_is_left_out([leading, following])
    # Two of many brokers do not show how many copies there should be: only what is known counts, or that one is empty.
    is_one_empty = not (leading.held and following.held)
    missing = missing_among([leading, following], replication_factor=None if is_one_empty else 1)
    lacking = name_what_is_missing(missing)
    for each in plans:
        tell_of_damage(_partition(each), leading.name, each.leader_damage)
        tell_of_damage(_partition(each), following.name, each.follower_damage)
        if each.takes_back_what_is_committed:
            complain(
                f"{_partition(each)}: {leading.name} must not lead: {following.name} has a snapshot up to offset "
                f"{each.committed_end:,}, so metadata was committed that {leading.name} lacks"
            )
    if json:
        print_json(
            {
                "leader": leading.name,
                "follower": following.name,
                "protocol": protocol.value,
                "partitions": [each.as_json() for each in answered],
                "not_compared": left_out,
                "missing": lacking,
                "errors": failures.as_json(),
            }
        )
    else:
        _print(plans, leading.name, following.name)
        for answer in answered:
            for sentence in answer.sentences(leading.name):
                print(*wrapped(f"{sentence}."), sep="\n")
    if failures.matter(plans):
        raise typer.Exit(EXIT_FAILED)
    if any(each.committed_lost for each in answered):
        raise typer.Exit(EXIT_CRITICAL)
    if missing or any(_is_finding(each) for each in plans):
        raise typer.Exit(EXIT_FINDINGS)


def _is_finding(plan: "TruncationPlan") -> bool:
    damaged = plan.leader_damage or plan.follower_damage
    return bool(plan.is_costly or plan.takes_back_what_is_committed or damaged)


def _print(plans: Sequence["TruncationPlan"], leader: str, follower: str) -> None:
    print_table(
        f"If {leader} leads, {follower} truncates",
        (
            "partition",
            "relation",
            "log end",
            "truncate to",
            "records lost",
            "bytes lost",
            "OffsetForLeaderEpoch exchanges",
        ),
        [
            (
                _partition(each),
                _relation(each),
                each.log_end_offset,
                _truncate_to(each),
                each.records_lost,
                each.bytes_lost,
                _dialogue(each),
            )
            for each in plans
        ],
    )
    if plans:
        print("by leader epochs alone: the records were not read; `epochlog advise` reads them")


def _partition(plan: "TruncationPlan") -> str:
    return f"{plan.topic}-{plan.partition}"


def _relation(plan: "TruncationPlan") -> str:
    """Name the relation, which damage may be the cause of."""
    damaged = [name for name, damage in (("leader", plan.leader_damage), ("follower", plan.follower_damage)) if damage]
    return str(plan.relation.value) + (f" ({' and '.join(damaged)} damaged)" if damaged else "")


def _truncate_to(plan: "TruncationPlan") -> int | str:
    return plan.truncate_to if plan.snapshot is None else f"all of it, for the snapshot of {plan.snapshot}"


def _dialogue(plan: "TruncationPlan") -> str:
    if plan.committed_end is not None and not plan.rounds:
        return "it agrees" if plan.snapshot is None else "its log begins later"
    if plan.rounds:
        return "; ".join(
            f"epoch {round_.requested_epoch} -> epoch {round_.answer.epoch} ends at {round_.answer.end_offset}"
            for round_ in plan.rounds
        )
    by_design = plan.protocol is TruncationProtocol.HIGH_WATERMARK
    return "none: " + ("" if by_design else "no epochs are known, so ") + "the high watermark decides"
