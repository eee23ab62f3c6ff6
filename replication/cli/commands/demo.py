"""`epochlog demo`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any

import typer

from logstore.topic_partition import TopicPartition
from replication.base.counted import counted
from replication.cli.judging.audit_files import OverwriteOption, ensure_file_writable, write_page
from replication.cli.judging.shipped_replicas import shipped_replicas, unpacked
from replication.cli.output.new_copy import new_copy
from replication.cli.output.printing import JsonOption, print_json, shown

FORKED = TopicPartition("diverge", 0)
PAGE = Path("epochlog-demo.html")


class NoSparkError(Exception):
    """What Spark needs is missing; the message explains how to install it."""


def demo(
    *,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help=f"The file for the audit's page; not with --json. By default {PAGE}, or that with the next number.",
        ),
    ] = None,
    unpack: Annotated[
        Path | None,
        typer.Option("--unpack", metavar="DIR", help="Only unpack the replicas into a new directory, to try commands."),
    ] = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Show what happened to the replicas of a real Kafka cluster that ship with epochlog, and audit them.

    The audit is made on this machine, and once more with Spark where Java 17 or later is installed.

    Examples:
      epochlog demo
      epochlog demo --unpack replicas
    """
    if unpack is not None:
        _unpack(unpack, json=json)
        return
    page = report or (PAGE if overwrite else _new_page())
    if not json:
        ensure_file_writable(page, "--report", overwrite=overwrite)
    with shipped_replicas() as place:
        facts = _facts(place)
        if not json:
            _tell(_story(facts))
        audited = _audit(place / "diverged")
        if not json:
            from replication.copies.audit.report import render

            write_page(page, render(audited))
            _tell([*_audit_summary(audited), *_page(page)])
        try:
            agrees, lacking = _agrees(audited, _audit_with_spark(place / "diverged")), None
        except NoSparkError as error:
            agrees, lacking = None, str(error)
    if json:
        print_json({**facts, "audit": audited, "spark_agrees": agrees, "spark_lacks": lacking})
        return
    _tell([*_with_spark(agrees, lacking), *_invitation()])


def _new_page() -> Path:
    """Return a name that nothing has yet in the directory where we are."""
    numbered = (PAGE.with_stem(f"{PAGE.stem}-{number}") for number in count(2))
    return next(page for page in chain([PAGE], numbered) if not page.exists())


def _unpack(target: Path, *, json: bool) -> None:
    with new_copy(target):
        brokers = list(map(str, unpacked(target)))
    if json:
        print_json({"unpacked": brokers})
    else:
        _tell(map(shown, brokers))


def _facts(place: Path) -> dict[str, Any]:
    """Run what the story reports: every number in it is computed here, from the files."""
    from logstore.offline.offline_log_directory import OfflineLogDirectory
    from logstore.verify import compare_epochs, verify_root
    from replication.copies.audit.local_judging import judge_replicas
    from replication.copies.planning.answered_plan import AnsweredPlan
    from replication.copies.planning.plan import plan_replicas
    from replication.copies.planning.replica import open_replicas

    brokers = sorted((place / "diverged").iterdir())
    roots = [OfflineLogDirectory.open(broker) for broker in brokers]
    findings = {root.name: [finding.as_json() for finding in verify_root(root)] for root in roots}
    replicas = open_replicas(brokers)
    plans = [
        {
            "leader": leader.name,
            "follower": follower.name,
            "partitions": [AnsweredPlan(each).as_json() for each in plan_replicas(leader, follower)],
        }
        for leader in replicas
        for follower in replicas
        if leader is not follower
    ]
    forked = [replica.partitions[FORKED] for replica in replicas if FORKED in replica.partitions]
    return {
        "verify": findings,
        "epochs": {
            name: {"replica": name, **compare_epochs(partition).as_json()}
            for name, partition in ((partition.path.parent.name, partition) for partition in forked)
        },
        "plan": plans,
        "advise": [each.verdict.as_json() for each in judge_replicas(replicas)],
        "reconciled": _reconciled(place),
    }


def _reconciled(place: Path) -> dict[str, Any]:
    """Truncate broker-2's copy as planned, add the leader's tail, and compare with what Kafka itself left."""
    from logstore.offline.recovered_log import RecoveredLog
    from replication.copies.planning.plan import plan
    from replication.copies.planning.replica import open_replicas

    leader, follower = open_replicas([place / "diverged/broker-1", place / "diverged/broker-2"])
    leading, following = (RecoveredLog.load(replica.partitions[FORKED]) for replica in (leader, follower))
    planned = plan(leading, following)
    leaders_log, followers_log = (log.segments[0].log_path.read_bytes() for log in (leading, following))
    kept = followers_log[: len(followers_log) - planned.bytes_lost]
    fetched = leaders_log[len(kept) :]
    name = following.segments[0].log_path.relative_to(place / "diverged")
    healed = (place / "reconciled" / name).read_bytes()
    return {
        "file": str(name),
        "truncate_to": planned.truncate_to,
        "bytes_kept": len(kept),
        "bytes_fetched": len(fetched),
        "equals_what_kafka_left": kept + fetched == healed,
    }


def _audit(cluster: Path) -> dict[str, Any]:
    """Audit the brokers' copies on this machine."""
    from replication.copies.audit.local.auditing import audit_locally

    return audit_locally([cluster]).document


def _agrees(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two audits give the same verdicts and findings."""
    return all(one[table] == other[table] for table in ("partitions", "findings"))


def _audit_with_spark(cluster: Path) -> dict[str, Any]:
    """Audit the same with Spark. Raises NoSparkError where that cannot run."""
    try:
        from replication.base.errors import JavaMissingError
        from replication.copies.audit.spark.auditing import audit
        from replication.copies.audit.spark.sessions.session import session_for_a_while
        from replication.copies.audit.spark.sessions.spark_failure import SPARK_ERRORS, cause_of
    except ModuleNotFoundError as error:
        missing = (error.name or "pyspark").partition(".")[0]
        raise NoSparkError(
            f"The package {missing} is missing: install the extra `spark`, in a checkout: pip install '.[cli,spark]'"
        ) from error
    try:
        with session_for_a_while() as spark, audit(spark, [cluster]) as audited:
            return audited.document
    except JavaMissingError as error:
        raise NoSparkError(str(error)) from error
    except SPARK_ERRORS as error:
        raise NoSparkError(f"the Spark job failed: {cause_of(error)}") from error


def _tell(lines: Iterable[str]) -> None:
    """Print now: what comes next may take a while."""
    for line in lines:
        print(line, flush=True)


def _story(facts: dict[str, Any]) -> Iterator[str]:
    """Print the facts, and announce the audit."""
    for part in (_opening, _verdict, _who_led, _plans, _advice, _ending):
        yield from part(facts)
    yield "6. And all partitions of all brokers, at once?                                 (epochlog audit)"
    yield "   This is the main job: every byte of all copies is read, and they are compared."


def _opening(facts: dict[str, Any]) -> Iterator[str]:
    yield "Three Kafka brokers, killed"
    yield "==========================="
    yield f"Here are copies of the log directories of {_list(facts['verify'])}, taken after all three were killed."
    yield "Before that, broker-2 was killed while broker-1 went on writing; then broker-1 was killed, and broker-2,"
    yield "which lacked its last records, was elected leader anyway: an unclean election."
    yield ""


def _verdict(facts: dict[str, Any]) -> Iterator[str]:
    yield "1. Is anything damaged?                                                        (epochlog verify)"
    for replica, findings in facts["verify"].items():
        damage = [finding for finding in findings if finding["severity"] in {"critical", "error"}]
        notes = len(findings) - len(damage)
        yield f"   {replica}: {len(damage) or 'no'} damage" + (f", {notes} informational findings" if notes else "")
    yield "   Killed brokers leave index files padded with zeros: that is normal. Nothing is torn or corrupt;"
    yield "   each copy is sound by itself. Do they agree with each other?"
    yield ""


def _who_led(facts: dict[str, Any]) -> Iterator[str]:
    yield f"2. Who led {FORKED}?                                                           (epochlog epochs)"
    for replica, comparison in facts["epochs"].items():
        entries = ", ".join(
            f"epoch {each['epoch']} from offset {each['start_offset']}" for each in comparison["batches"]
        )
        yield f"   {replica}: {entries}"
    yield "   Every leader writes under an epoch of its own. Both copies hold an epoch from offset 300 on that the"
    yield "   other has never seen: from there on the two logs hold different records. They have forked."
    yield ""


def _plans(facts: dict[str, Any]) -> Iterator[str]:
    yield "3. What would be truncated?                                                      (epochlog plan)"
    for pair in facts["plan"]:
        roles = f"{pair['leader']} leads, {pair['follower']} follows"
        for each in pair["partitions"]:
            if each["relation"] == "forked":
                yield (
                    f"   {roles}: {each['topic']}-{each['partition']} truncates from {each['log_end_offset']} to "
                    f"{each['truncate_to']}, {each['records_lost']} records lost"
                )
    yield "   The follower asks where its own last epoch ends on the leader, and truncates there: back to 300,"
    yield "   where the two still agreed. By its leader epochs no other partition has anything to truncate."
    yield ""


def _advice(facts: dict[str, Any]) -> Iterator[str]:
    yield "4. Who should lead?                                                            (epochlog advise)"
    for each in facts["advise"]:
        if each["choices_differ"]:
            lost = "; ".join(f"under {candidate['replica']} {_lost(candidate)}" for candidate in each["candidates"])
            yield f"   {each['topic']}-{each['partition']}: {lost}"
    yield "   broker-2 led last: it has the latest epoch and the longest log. After an unclean election that may be the"
    yield "   costly choice. Kafka asks no log: it elects by the cluster's metadata, of which there is no copy here."
    yield ""


def _lost(candidate: Mapping[str, Any]) -> str:
    from replication.copies.audit.judgement.wording import acknowledged_in_words

    lost, acknowledged, maybe = (candidate[part]["records"] for part in ("lost", "acknowledged", "maybe_acknowledged"))
    return f"{lost} records are lost, {acknowledged_in_words(lost, acknowledged, maybe)}"


def _ending(facts: dict[str, Any]) -> Iterator[str]:
    end = facts["reconciled"]
    yield "5. What did Kafka do?"
    yield "   The brokers were started again, and Kafka made broker-1 the leader. If broker-2's copy is cut to"
    yield (
        f"   offset {end['truncate_to']} ({counted(end['bytes_kept'], 'byte')} kept) and the leader's tail is added "
        f"({counted(end['bytes_fetched'], 'byte')}), is the"
    )
    answer = "Yes, byte for byte." if end["equals_what_kafka_left"] else "No!"
    yield f"   result what Kafka left on broker-2?   {answer}"
    yield ""


def _audit_summary(audited: Mapping[str, Any]) -> Iterator[str]:
    partitions, metrics = audited["partitions"], audited["metrics"]
    verdicts = Counter(partition["verdict"] for partition in partitions)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    size = counted(metrics["bytes"], "byte")
    yield f"   {metrics['copies']} copies of {counted(len(partitions), 'partition')}, {size} of log: {counts}."
    for partition in partitions:
        if partition["verdict"] == "forked":
            yield from _fork(partition)
    damage, lost = metrics["findings_error"], metrics["findings_critical"]
    yield f"   {damage or 'No'} damage. {lost} copies have acknowledged records that the one of the latest epoch lacks."
    yield "   Identical copies hold the same batches. Retention: one copy starts later than another,"
    yield "   because each broker deletes old segments on its own; that is harmless. Forked ones need your attention."
    yield ""


def _fork(partition: Mapping[str, Any]) -> Iterator[str]:
    name = f"{partition['topic']}-{partition['partition']}"
    for fork in partition["forks"]:
        yield (
            f"   {name} forked at offset {fork['offset']}: epoch {fork['left_epoch']} on {fork['left']}, "
            f"epoch {fork['right_epoch']} on {fork['right']}"
        )
    for pair in partition["pairs"]:
        if pair["leader"] == partition["recommended"] and pair["records_lost"]:
            yield (
                f"      if {pair['leader']} leads, {pair['follower']} truncates to {pair['truncate_to']} and loses "
                f"{counted(pair['records_lost'], 'record')}, {counted(pair['bytes_lost'], 'byte')}"
            )


def _page(report: Path) -> Iterator[str]:
    yield f"   Open this page in a browser:  {report.absolute()}"
    yield "   It says of each fork what every leader would cost and what to do, with commands to copy. A bar is one"
    yield "   copy, a colour is one leader's epoch. Copies diverge at the dashed red line; hatched is what is cut off"
    yield "   under the leader that loses least. Records before the triangle were acknowledged to producers."
    yield ""


def _with_spark(agrees: bool | None, lacking: str | None) -> Iterator[str]:
    if agrees is None:
        yield f"   On a cluster the same audit runs with Spark, which cannot start here. {lacking}"
    else:
        outcome = "the same verdicts and findings" if agrees else "something else: that is a bug, please report it"
        yield f"   On a cluster the same audit runs with Spark. Started here, it gives {outcome}."
    yield ""


def _invitation() -> Iterator[str]:
    yield "Now try it on copies of your own log directories:  epochlog verify DIR"
    yield "                                                   epochlog audit BROKER-1 BROKER-2 BROKER-3"


def _list(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"
