"""What to do next, in order, as commands to copy. None of them is run here."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from logstore.files.partition_metadata import PARTITION_METADATA_NAME
from logstore.verify import Severity
from logstore.verify.directory_check import TOPIC_ID_MISSING
from replication.audit.judgement.cluster_commands import abort_transaction, reset_group
from replication.audit.judgement.elected import candidate_of, choices_of, is_told
from replication.audit.judgement.findings.cross_checks import TOPIC_ID_DIFFERS
from replication.audit.judgement.not_given import NotGiven, not_given
from replication.audit.judgement.verdict import Verdict
from replication.audit.judgement.wording import name_of, open_in_leader, some, span_of
from replication.audit.runbook.contest import NOBODY, Contest
from replication.audit.runbook.start_plan import StartPlan, plan_start
from replication.audit.runbook.start_steps import StartSteps
from replication.counted import counted
from replication.metadata_partition import METADATA_PARTITION
from replication.next_step import Step

if TYPE_CHECKING:
    from replication.quorum_recovery import QuorumAdvice

Json = Mapping[str, Any]
BROKERS: Final = "BROKER:9092"
"""Stands for an address that only the reader knows."""
MOST_COMMANDS: Final = 20
"""Of one kind; the document has the rest."""
BAD: Final = frozenset({Severity.CRITICAL.value, Severity.ERROR.value})
"""Findings of these severities are to be mended."""
QUIET: Final = frozenset({Verdict.IDENTICAL, Verdict.RETENTION, Verdict.COMPACTION})
"""Verdicts of copies that agree."""
PRELIMINARY: Final = "Preliminary"
"""What is so while something is to be done before that may change it."""


def runbook(document: Json, bootstrap: str = BROKERS, quorum: "QuorumAdvice | None" = None) -> Iterator[Step]:
    """Give the steps, from the object that `epochlog audit --json` prints.

    Controllers come first where `quorum` is to be decided: without them no broker elects anything.

    >>> for number, step in enumerate(runbook(audit_locally(["broker-1", "broker-2"]).document), 1):
    ...     print(number, step.what, *step.commands)
    """
    partitions = [each for each in document["partitions"] if _place(each) != METADATA_PARTITION]
    document = {**document, "partitions": partitions}
    roots = [root for snapshot in document["snapshots"] for root in snapshot["roots"]]
    is_quorum_whole = quorum is None or not quorum.has_something_to_decide
    plan = planned_start(document)
    if is_quorum_whole and _is_well(document, plan):
        yield from _start(document, plan, bootstrap)
        return
    yield _back_up(roots)
    if quorum is not None and quorum.has_something_to_decide:
        yield from quorum.steps_after_backup
    before_a_start = [*_before_a_start(document)]
    yield from before_a_start
    later = _from_the_start_on(document, plan, bootstrap, roots)
    if before_a_start:
        yield _look_again(roots)
        later = (replace(step, what=f"{PRELIMINARY}: {step.what}") for step in later)
    yield from later


def _from_the_start_on(document: Json, plan: StartPlan, bootstrap: str, roots: Sequence[str]) -> Iterator[Step]:
    partitions = _as_planned(document, plan)
    yield from _start(document, plan, bootstrap)
    yield from _end_transactions(document, bootstrap)
    yield from _reset_groups(document.get("consumer_offsets", ()), bootstrap)
    chosen = [each for each in partitions if _loses_under_the_best(each) and not _is_left_alone(each)]
    yield from _look_at_transactions([*filter(_is_transactional, chosen)], document["snapshots"])
    yield from _salvage([*filter(_lacks_records, chosen)], document["snapshots"])
    yield _verify(roots, bootstrap)


def _as_planned(document: Json, plan: StartPlan) -> list[Json]:
    """Let those lead that the start plan lets lead, where no order of starts gives each partition its best leader."""
    planned = {(led.contest.topic, led.contest.number): led.worst for led in plan.sacrificed}
    return [{**each, "least_loss": planned.get(_place(each)) or each["least_loss"]} for each in document["partitions"]]


def _before_a_start(document: Json) -> Iterator[Step]:
    """Give what changes what copies there are, or what they are worth."""
    partitions = document["partitions"]
    yield from _find_disks(document)
    yield from _read_again([name_of(each) for each in partitions if Verdict.UNKNOWN in each["verdicts"]])
    yield from _restore_ids(document)
    yield from _repair(document)
    yield from _understand([each for each in partitions if _is_doubtful(each) and _is_at_stake(each)])


def _is_well(document: Json, plan: StartPlan) -> bool:
    """Whether nothing is to be mended or kept: all there is was read, and no start of brokers loses any of it."""
    has_errors = any(each["severity"] in BAD for each in document["findings"])
    is_behind = document.get("consumer_offsets") or document.get("hanging_transactions")
    if has_errors or is_behind or document.get("left_out") or not_given(document) or not document["partitions"]:
        return False
    return not plan.is_ordered and all(map(_is_sound, document["partitions"]))


def _is_sound(partition: Json) -> bool:
    """Whether its copies are known to agree, and it is known which replicas there are."""
    agrees = set(partition["verdicts"]) <= QUIET and not _is_at_stake(partition) and not open_in_leader(partition)
    return agrees and is_told(partition)


def _is_at_stake(partition: Json) -> bool:
    return any(each["lost"] is None or each["lost"]["records"] for each in choices_of(partition))


def _is_left_alone(partition: Json) -> bool:
    """Whether nobody should lead it yet."""
    return Verdict.UNKNOWN in partition["verdicts"] or _is_doubtful(partition)


def _loses_under_the_best(partition: Json) -> bool:
    """Whether even the best leader lacks records of another copy."""
    least = candidate_of(partition, partition["least_loss"])
    return bool(least and least["lost"] and least["lost"]["records"])


def planned_start(document: Json) -> StartPlan:
    """Decide in which order brokers start, from the object that `epochlog audit --json` prints."""
    snapshots = document["snapshots"]
    names = {each["node_id"]: each["name"] for each in snapshots if each["node_id"] is not None}
    chosen = (each for each in document["partitions"] if _has_costs(each) and not _is_left_alone(each))
    contests = [Contest.of(each, names) for each in chosen]
    return plan_start(
        contests, [each["name"] for each in snapshots if any(each["name"] in one.costs for one in contests)]
    )


def _start(document: Json, plan: StartPlan, bootstrap: str) -> Iterator[Step]:
    """Say in which order brokers start, where there are any."""
    if any(stage.brokers for stage in plan.stages):
        voters, unread = _voters(document["partitions"]), not_given(document)
        left_out = document.get("left_out", 0)
        yield from StartSteps(plan, document["snapshots"], bootstrap, voters, unread, left_out).steps()


def _voters(partitions: Sequence[Json]) -> frozenset[int]:
    """Return the nodes that have a vote as controllers, as far as the metadata tells."""
    return frozenset(voter for each in partitions for voter in (each["election"] or {}).get("voters", ()))


def _has_costs(partition: Json) -> bool:
    return bool(partition["candidates"]) and all(each["lost"] is not None for each in choices_of(partition))


def _look_again(roots: Sequence[str]) -> Step:
    return Step(
        "Run this again once that is done, and go on with what it says then: the steps below hold for the files as "
        "they are now, are preliminary, and to be followed only if nothing of it could be done",
        (_incident(roots),),
    )


def _incident(roots: Sequence[str]) -> str:
    return f"epochlog incident {' '.join(map(shlex.quote, roots))}"


def _find_disks(document: Json) -> Iterator[Step]:
    """Name the brokers that may have what no copy at hand has, those first that are known to have all."""
    wanted: dict[int, list[str]] = {}
    for each in document["partitions"]:
        election = each.get("election")
        if election and election["why_unknown"] is None and all(map(_may_lack_some, election["together"])):
            for broker in election["absent"]:
                wanted.setdefault(broker, []).append(name_of(each))
    for broker, names in sorted(wanted.items()):
        yield Step(
            f"Find the disk of broker {broker} before any other starts: by the cluster's metadata it has everything of "
            f"{some(names)}, and of no copy that is here this is known. Name it to this command too, and let it lead. "
            "If it is gone for good, so is what it alone had, which is not counted below"
        )
    for each in not_given(document):
        yield from _look_for(each, wanted.get(each.broker, ()))


def _look_for(broker: NotGiven, wanted: Collection[str]) -> Iterator[Step]:
    """Name a broker that is not known to have all, where nobody at hand is either; `wanted` is looked for already."""
    if names := [each for each in broker.undecided if each not in wanted]:
        yield Step(
            f"Name the directories of broker {broker.broker} to this command too, before any broker starts: it has "
            f"replicas of {some(names)}, of which no copy that is here is known to have everything. If they are gone "
            "for good, so is what it alone had, which is not counted below"
        )


def _may_lack_some(election: Json) -> bool:
    return bool(election["unclean"]) or election["leader"] is NOBODY


def _back_up(roots: Sequence[str]) -> Step:
    local = [root for root in roots if "://" not in root]
    return Step(
        "Back up. Copy the directories of all brokers and controllers before any starts, also of those that are not "
        "named here: what a start truncates is gone. If these are the brokers' own, the commands do it, once. If these "
        "are copies, whatever a step changes in them has to be changed in the brokers' own directories as well",
        tuple(_copy_once(root) for root in local),
    )


def _copy_once(root: str) -> str:
    """Return what copies a directory: not into the copy of an earlier time, nor over it."""
    kept = shlex.quote(f"{root}.kept")
    return f"test -e {kept} || cp -a --reflink=auto {shlex.quote(root)} {kept}"


def _read_again(unknown: Sequence[str]) -> Iterator[Step]:
    if unknown:
        yield Step(
            f"Make what could not be read readable, or copy it again, and run this again: of {some(unknown)} nothing "
            "reassuring can be said"
        )


def _restore_ids(document: Json) -> Iterator[Step]:
    """Say whose logs would be set aside at a start, and which file keeps them from it."""
    found = dict.fromkeys((*_place(each), each["replica"]) for each in document["findings"] if _is_of_an_id(each))
    if found:
        yield Step(
            f"Give {counted(len(found), 'log')} the topic's id, with the broker stopped, unless it is another topic's "
            f"log: else a start sets it aside, and begins an empty one ({some([_copy(*each) for each in found])}). A "
            f"sound copy's {PARTITION_METADATA_NAME} has it",
            tuple(_id_files(document["partitions"], found))[:MOST_COMMANDS],
        )


def _is_of_an_id(finding: Json) -> bool:
    return finding["kind"] in {TOPIC_ID_MISSING, TOPIC_ID_DIFFERS} and finding["severity"] == Severity.ERROR.value


def _copy(topic: str, partition: int, replica: str) -> str:
    return f"{topic}-{partition} on {replica}"


def _id_files(partitions: Sequence[Json], copies: Collection[tuple[str, int, str]]) -> Iterator[str]:
    """Give what writes the file, where the cluster's metadata has the id."""
    for each in partitions:
        for branch in each["branches"]:
            place = branch["directory"]
            if each["topic_id"] and (*_place(each), branch["replica"]) in copies and "://" not in place:
                file = shlex.quote(f"{place}/{PARTITION_METADATA_NAME}")
                yield f"printf 'version: 0\\ntopic_id: %s' {shlex.quote(each['topic_id'])} > {file}"


def _repair(document: Json) -> Iterator[Step]:
    """Say how damaged copies are healed from sound ones of others."""
    sick = {(each["topic"], each["partition"], each["replica"]) for each in document["findings"] if _is_damage(each)}
    commands = tuple(
        command
        for each in document["partitions"]
        if Verdict.DAMAGED in each["verdicts"]
        for command in _repairs(each, [name for *place, name in sick if tuple(place) == _place(each)])
    )
    if commands:
        yield Step(
            "Repair damaged copies of which another broker has a sound one, before any of these brokers starts: look "
            "first, then write it anew with --output NEW instead of --dry-run, NEW being a directory that does not "
            "exist yet, in one that does, outside of the brokers'. Move the damaged directory out of the broker's, and "
            "the one of its name in NEW to its place",
            commands[:MOST_COMMANDS],
        )


def _is_damage(finding: Json) -> bool:
    is_error = finding["severity"] == Severity.ERROR.value and finding["topic"] is not None
    return bool(is_error and not _is_of_an_id(finding))


def _place(partition: Json) -> tuple[str, int]:
    return partition["topic"], partition["partition"]


def _repairs(partition: Json, sick: Sequence[str]) -> Iterator[str]:
    places = {each["replica"]: each["directory"] for each in partition["branches"] if "://" not in each["directory"]}
    sound = [place for name, place in places.items() if name not in sick]
    if sound:
        others = [word for place in sound for word in ("--from", place)]
        for name in sorted(sick):
            if name in places:
                yield shlex.join(["epochlog", "repair", places[name], *others, "--dry-run"])


def _is_doubtful(partition: Json) -> bool:
    """Whether the copy under which least is lost is not to be trusted."""
    least = candidate_of(partition, partition["least_loss"])
    return least is not None and least["damage"] is not None


def _understand(partitions: Sequence[Json]) -> Iterator[Step]:
    """Say of which partitions nobody should lead yet."""
    if partitions:
        places = [
            branch["directory"]
            for each in partitions[:MOST_COMMANDS]
            if Verdict.DAMAGED in each["verdicts"]
            for branch in each["branches"]
            if branch["replica"] == each["least_loss"] and "://" not in branch["directory"]
        ]
        yield Step(
            f"Let no copy of {some([name_of(each) for each in partitions])} lead, and rebuild none, before you know "
            "what the damaged or differing parts held: the copy under which least is lost is not to be trusted",
            tuple(f"epochlog verify {shlex.quote(place)} --records" for place in places),
        )


def _end_transactions(document: Json, bootstrap: str) -> Iterator[Step]:
    look = f"epochlog transactions --bootstrap {bootstrap} --abort --dry-run"
    transactions = document.get("hanging_transactions", ())
    if transactions:
        yield Step(
            "End the transactions that no coordinator will end, once their partitions have leaders: until then "
            "consumers of committed records wait before them. Look first what the cluster says of them",
            (look, *(abort_transaction(each, bootstrap) for each in transactions[:MOST_COMMANDS])),
        )
    elif left := [name_of(each) for each in document["partitions"] if open_in_leader(each)]:
        yield Step(
            f"Ask the cluster, once they have leaders, whether anybody ends the transactions that are open in "
            f"{some(left)}: consumers of committed records wait before those that hang",
            (look,),
        )


def _look_at_transactions(partitions: Sequence[Json], snapshots: Sequence[Json]) -> Iterator[Step]:
    """Say how the transactions are found of which the leader lacks the end or a part."""
    if partitions:
        names = some([name_of(each) for each in partitions])
        yield Step(
            f"See which transactions it breaks that the leaders of {names} lack what the backed up copies of the "
            "others hold: the ends of some, or parts of them",
            tuple(_with_kept("transactions", partitions, snapshots)),
        )


def _reset_groups(offsets: Sequence[Json], bootstrap: str) -> Iterator[Step]:
    if offsets:
        yield Step(
            "Reset the consumer groups that stand beyond what their next leader has, while they are stopped: they "
            "would skip records, or start over",
            tuple(f"{reset_group(each, bootstrap)} --execute" for each in offsets[:MOST_COMMANDS]),
        )


def _lacks_records(partition: Json) -> bool:
    """Whether what the proposed leader lacks has records of producers."""
    return any(
        each["lost"] and span_of(each["lost"]).of_producers
        for each in partition["candidates"]
        if each["replica"] == partition["least_loss"]
    )


def _is_transactional(partition: Json) -> bool:
    """Whether a copy has an open transaction, or more ends of transactions than another one."""
    has_more_ends = any(each["lost"] and each["lost"]["control_records"] for each in partition["candidates"])
    return has_more_ends or any(branch["open_transactions"] for branch in partition["branches"])


def _salvage(partitions: Sequence[Json], snapshots: Sequence[Json]) -> Iterator[Step]:
    """Say how the records are found that are lost all the same."""
    if partitions:
        leaders = sorted({each["least_loss"] for each in partitions})
        several = ". Take from each file only the partitions that its --kept broker leads" if len(leaders) > 1 else ""
        yield Step(
            "Salvage what the leaders lack all the same and the backed up copies of the others hold: look first, then "
            f"write it to a file with --to instead of --dry-run, or back into the cluster with --produce{several}",
            tuple(f"{each} --dry-run" for each in _with_kept("salvage", partitions, snapshots)),
        )


def _is_one_directory(snapshot: Json) -> bool:
    return len(snapshot["roots"]) == 1 and "://" not in snapshot["roots"][0]


def _with_kept(command: str, partitions: Sequence[Json], snapshots: Sequence[Json]) -> Iterator[str]:
    """Give the command for each leader, with the others' backed up copies; none where a broker has several roots."""
    if not all(map(_is_one_directory, snapshots)):
        return
    roots = {each["name"]: each["roots"][0] for each in snapshots}
    for leader in sorted({each["least_loss"] for each in partitions} & roots.keys())[:MOST_COMMANDS]:
        copies = [root if name == leader else f"{root}.kept" for name, root in roots.items()]
        topics = ",".join(sorted({each["topic"] for each in partitions if each["least_loss"] == leader}))
        yield shlex.join(["epochlog", command, *copies, "--kept", _broker(leader, snapshots), "--topics", topics])


def _broker(name: str, snapshots: Sequence[Json]) -> str:
    """Name a broker by its number, else by its directory."""
    snapshot = next(each for each in snapshots if each["name"] == name)
    return PurePath(snapshot["roots"][0]).name if snapshot["node_id"] is None else str(snapshot["node_id"])


def _verify(roots: Sequence[str], bootstrap: str) -> Step:
    return Step(
        "Verify, once the brokers run. If nothing is listed below the heading, nothing is under-replicated. Then copy "
        "the brokers' directories as they are by now, here to names that end in .new, and see whether those agree: all "
        "is well if the first line says that no choice of a leader loses records",
        (
            f"epochlog cluster --bootstrap {bootstrap} --under-replicated",
            _incident([f"{root}.new" for root in roots]),
        ),
    )
