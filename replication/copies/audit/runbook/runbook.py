"""What to do next, in order, as commands to copy. None of them is run here."""

import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from logstore.files.partition_metadata import PARTITION_METADATA_NAME
from logstore.verify import Severity
from logstore.verify.directory_check import TOPIC_ID_MISSING
from replication.base.counted import counted
from replication.base.json_object import Json
from replication.base.metadata_partition import METADATA_PARTITION
from replication.base.next_step import Step
from replication.copies.audit.judgement.cluster_commands import abort_transaction, reset_group
from replication.copies.audit.judgement.elected import candidate_of, choices_of, is_told
from replication.copies.audit.judgement.findings.cross_checks import TOPIC_ID_DIFFERS
from replication.copies.audit.judgement.not_given import not_given
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.judgement.wording import name_of, open_in_leader, some, span_of
from replication.copies.audit.runbook.backups import BROKERS, back_up, compare_at_last, kept_copy, look_again
from replication.copies.audit.runbook.contest import Contest
from replication.copies.audit.runbook.start_plan import Led, StartPlan, plan_start
from replication.copies.audit.runbook.start_steps import StartSteps
from replication.copies.audit.runbook.wanted_disks import find_disks

if TYPE_CHECKING:
    from replication.copies.quorum_recovery.quorum_advice import QuorumAdvice

MOST_COMMANDS: Final = 10
"""Of one kind; a last line says how many there are more."""
MOST_REPAIRS: Final = 5
COMMANDS_OF_A_REPAIR: Final = 3
BAD: Final = frozenset({Severity.CRITICAL.value, Severity.ERROR.value})
"""Findings of these severities are to be mended."""
QUIET: Final = frozenset({Verdict.IDENTICAL, Verdict.RETENTION, Verdict.COMPACTION})
"""Verdicts of copies that agree."""
PRELIMINARY: Final = "Preliminary"
"""What is so while something is to be done before that may change it."""


def runbook(
    document: Json, bootstrap: str = BROKERS, quorum: "QuorumAdvice | None" = None, plan: StartPlan | None = None
) -> Iterator[Step]:
    """Give the steps, from the object that `epochlog audit --json` prints.

    Controllers come first where `quorum` is to be decided: without them no broker elects anything. `plan` is that of
    `planned_start`, where it is known already.

    >>> for number, step in enumerate(runbook(audit_locally(["broker-1", "broker-2"]).document), 1):
    ...     print(number, step.what, *step.commands)
    """
    partitions = [each for each in document["partitions"] if _place(each) != METADATA_PARTITION]
    document = {**document, "partitions": partitions}
    roots = [root for snapshot in document["snapshots"] for root in snapshot["roots"]]
    plan = plan or planned_start(document)
    if is_well(document, plan, quorum):
        yield from _start(document, plan, bootstrap)
        return
    yield back_up(roots)
    if quorum is not None and quorum.has_something_to_decide:
        yield from quorum.steps_after_backup
    before_a_start = [*_before_a_start(document)]
    yield from before_a_start
    later = _from_the_start_on(document, plan, bootstrap, roots)
    if before_a_start:
        yield look_again(roots, bootstrap)
        later = (replace(step, what=f"{PRELIMINARY}: {step.what}", is_preliminary=True) for step in later)
    yield from later


def _from_the_start_on(document: Json, plan: StartPlan, bootstrap: str, roots: Sequence[str]) -> Iterator[Step]:
    partitions = _as_planned(document, plan)
    yield from _start(document, plan, bootstrap)
    yield from _end_transactions(document, bootstrap)
    yield from _reset_groups(document.get("consumer_offsets", ()), bootstrap)
    chosen = [each for each in partitions if _loses_under_the_best(each) and not _is_left_alone(each)]
    yield from _look_at_transactions([*filter(_is_transactional, chosen)], document["snapshots"])
    yield from _salvage([*filter(_lacks_records, chosen)], document["snapshots"])
    yield compare_at_last(roots, bootstrap)


def _as_planned(document: Json, plan: StartPlan) -> list[Json]:
    """Return the partitions with the start plan's leaders, where no order gives each its best one."""
    planned = {(led.contest.topic, led.contest.number): led.worst for led in plan.sacrificed}
    return [{**each, "least_loss": planned.get(_place(each)) or each["least_loss"]} for each in document["partitions"]]


def named_as_planned(document: Json, plan: StartPlan) -> Json:
    """Name of several copies under which as little is lost the one that the start plan lets lead.

    So all that is said of a partition, and the steps, have one name.
    """
    planned = {(led.contest.topic, led.contest.number): led for stage in plan.stages for led in stage.led}
    partitions = [_named_as_planned(each, planned.get(_place(each))) for each in document["partitions"]]
    return {**document, "partitions": partitions}


def _named_as_planned(partition: Json, led: Led | None) -> Json:
    if led is None or led.cost != led.contest.least or partition["least_loss"] in led.leaders:
        return partition
    return {**partition, "least_loss": min((each for each in led.leaders if each), default=partition["least_loss"])}


def _before_a_start(document: Json) -> Iterator[Step]:
    """Give what changes what copies there are, or what they are worth."""
    partitions = document["partitions"]
    yield from find_disks(document)
    yield from _read_again([name_of(each) for each in partitions if Verdict.UNKNOWN in each["verdicts"]])
    yield from _restore_ids(document)
    yield from _repair(document)
    yield from _understand([each for each in partitions if _is_doubtful(each) and _is_at_stake(each)])


def is_well(document: Json, plan: StartPlan, quorum: "QuorumAdvice | None" = None) -> bool:
    """Whether nothing is to be mended or kept: all there is was read, and no start of brokers loses any of it."""
    return agrees(document, quorum) and not plan.is_ordered and all(map(is_told, document["partitions"]))


def agrees(document: Json, quorum: "QuorumAdvice | None" = None) -> bool:
    """Whether all copies agree and are sound, and none is known to be missing."""
    has_errors = any(each["severity"] in BAD for each in document["findings"])
    is_behind = document.get("consumer_offsets") or document.get("hanging_transactions")
    if has_errors or is_behind or document.get("left_out") or not_given(document) or not document["partitions"]:
        return False
    if quorum is not None and quorum.has_something_to_decide:
        return False
    return all(map(_is_sound, document["partitions"]))


def _is_sound(partition: Json) -> bool:
    """Whether its copies are known to agree."""
    return set(partition["verdicts"]) <= QUIET and not _is_at_stake(partition) and not open_in_leader(partition)


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
    """Yield the steps that start brokers in order, where there are any."""
    if any(stage.brokers for stage in plan.stages):
        voters, unread = _voters(document["partitions"]), not_given(document)
        left_out = document.get("left_out", 0)
        undecided = [name_of(each) for each in document["partitions"] if _is_left_alone(each)]
        yield from StartSteps(plan, document["snapshots"], bootstrap, voters, unread, left_out, undecided).steps()


def _voters(partitions: Sequence[Json]) -> frozenset[int]:
    """Return the nodes that have a vote as controllers, as far as the metadata shows."""
    return frozenset(voter for each in partitions for voter in (each["election"] or {}).get("voters", ()))


def _has_costs(partition: Json) -> bool:
    return bool(partition["candidates"]) and all(each["lost"] is not None for each in choices_of(partition))


def _read_again(unknown: Sequence[str]) -> Iterator[Step]:
    if unknown:
        yield Step(
            f"Make what could not be read readable, or copy it again, and run this again: of {some(unknown)} nothing "
            "reassuring can be said"
        )


def _restore_ids(document: Json) -> Iterator[Step]:
    """Yield the step for logs that a start would set aside, with the file that prevents it."""
    found = dict.fromkeys((*_place(each), each["replica"]) for each in document["findings"] if _is_of_an_id(each))
    if found:
        yield Step(
            f"Give {counted(len(found), 'log')} the topic's id, with the broker stopped, unless it is another topic's "
            f"log: else a start sets it aside, and begins an empty one ({some([_copy(*each) for each in found])}). A "
            f"sound copy's {PARTITION_METADATA_NAME} has it",
            _few(_id_files(document["partitions"], found)),
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
    """Yield the step that heals damaged copies from sound ones of others."""
    sick = {(each["topic"], each["partition"], each["replica"]) for each in document["findings"] if _is_damage(each)}
    commands = tuple(
        command
        for each in document["partitions"]
        if Verdict.DAMAGED in each["verdicts"]
        for command in _repairs(each, [name for *place, name in sick if tuple(place) == _place(each)])
    )
    if commands:
        yield Step(
            "Repair damaged copies of which another broker has a sound one, before any of these brokers starts. For "
            "each: check what would be healed, write the repaired copy, and put it in the place of the damaged one, "
            "which is kept. Both repairs end with status 1, as there is something to heal. If these are copies, put "
            "what was healed into the brokers' own directories as well",
            _few(commands, MOST_REPAIRS * COMMANDS_OF_A_REPAIR),
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
                yield from _repair_of(places[name], others)


def _repair_of(place: str, others: Sequence[str]) -> Iterator[str]:
    root, partition = os.path.split(place)
    healed, kept = f"{root}.{partition}.healed", f"{root}.{partition}.damaged"
    for last in (["--dry-run"], ["--output", healed]):
        yield shlex.join(["epochlog", "repair", place, *others, *last])
    new, old, aside = map(shlex.quote, (f"{healed}/{partition}", place, kept))
    yield f"test -e {new} && mv {old} {aside} && mv {new} {old}"


def _is_doubtful(partition: Json) -> bool:
    """Whether the copy under which least is lost is not to be trusted."""
    least = candidate_of(partition, partition["least_loss"])
    return least is not None and least["damage"] is not None


def _understand(partitions: Sequence[Json]) -> Iterator[Step]:
    """Yield the step for partitions that nobody should lead yet."""
    if partitions:
        places = [
            branch["directory"]
            for each in partitions
            if Verdict.DAMAGED in each["verdicts"]
            for branch in each["branches"]
            if branch["replica"] == each["least_loss"] and "://" not in branch["directory"]
        ]
        yield Step(
            f"Let no copy of {some([name_of(each) for each in partitions])} lead, and rebuild none, before you know "
            "what the damaged or differing parts held: the copy under which least is lost is not to be trusted",
            _few(f"epochlog verify {shlex.quote(place)} --records" for place in places),
        )


def _end_transactions(document: Json, bootstrap: str) -> Iterator[Step]:
    look = f"epochlog transactions --bootstrap {bootstrap} --abort --dry-run"
    transactions = document.get("hanging_transactions", ())
    if transactions:
        yield Step(
            "End the transactions that no coordinator will end, once their partitions have leaders: until then "
            "consumers of committed records wait before them. Look first what the cluster says of them",
            (look, *_few(abort_transaction(each, bootstrap) for each in transactions)),
        )
    elif left := [name_of(each) for each in document["partitions"] if open_in_leader(each)]:
        yield Step(
            f"Ask the cluster, once they have leaders, whether anybody ends the transactions that are open in "
            f"{some(left)}: consumers of committed records wait before those that hang",
            (look,),
        )


def _look_at_transactions(partitions: Sequence[Json], snapshots: Sequence[Json]) -> Iterator[Step]:
    """Yield the step that finds transactions of which the leader lacks the end or a part."""
    if partitions:
        names = some([name_of(each) for each in partitions])
        yield Step(
            f"See which transactions it breaks that the leaders of {names} lack what the backed up copies of the "
            "others hold: the ends of some, or parts of them",
            _few(_with_kept("transactions", partitions, snapshots)),
        )


def _reset_groups(offsets: Sequence[Json], bootstrap: str) -> Iterator[Step]:
    if offsets:
        yield Step(
            "Reset the consumer groups that stand beyond what their next leader has, while they are stopped: they "
            "would skip records, or start over",
            _few(f"{reset_group(each, bootstrap)} --execute" for each in offsets),
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
    """Yield the step that finds the records that are lost all the same."""
    if partitions:
        leaders = sorted({each["least_loss"] for each in partitions})
        several = ". Take from each file only the partitions that its --kept broker leads" if len(leaders) > 1 else ""
        yield Step(
            "Salvage what the leaders lack all the same and the backed up copies of the others hold: look first, then "
            f"write it to a file with --output instead of --dry-run, or back into the cluster with --produce{several}",
            _few(f"{each} --dry-run" for each in _with_kept("salvage", partitions, snapshots)),
        )


def _few(commands: Iterable[str], most: int = MOST_COMMANDS) -> tuple[str, ...]:
    """Give the first ones, and how many there are more."""
    found = [*commands]
    rest = len(found) - most
    more = [f"# and {rest:,} more, which are printed once these are done and this is run again"] if rest > 0 else []
    return (*found[:most], *more)


def _can_be_named(snapshot: Json) -> bool:
    """Whether a command knows which roots are one broker's: of several, `meta.properties` has to say so."""
    is_local = not any("://" in root for root in snapshot["roots"])
    return is_local and (len(snapshot["roots"]) == 1 or snapshot["node_id"] is not None)


def _with_kept(command: str, partitions: Sequence[Json], snapshots: Sequence[Json]) -> Iterator[str]:
    """Give the command for each leader, with the others' backed up copies, root by root."""
    if not all(map(_can_be_named, snapshots)):
        return
    roots = {each["name"]: each["roots"] for each in snapshots}
    for leader in sorted({each["least_loss"] for each in partitions} & roots.keys()):
        copies = [root if name == leader else kept_copy(root) for name, own in roots.items() for root in own]
        topics = ",".join(sorted({each["topic"] for each in partitions if each["least_loss"] == leader}))
        yield shlex.join(["epochlog", command, *copies, "--kept", _broker(leader, snapshots), "--topics", topics])


def _broker(name: str, snapshots: Sequence[Json]) -> str:
    """Name a broker by its number, else by its directory."""
    snapshot = next(each for each in snapshots if each["name"] == name)
    return PurePath(snapshot["roots"][0]).name if snapshot["node_id"] is None else str(snapshot["node_id"])
