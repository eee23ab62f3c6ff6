"""An incident: what an audit has found, as somebody needs it who has to decide which broker leads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logstore.verify import Severity
from replication.base.counted import counted
from replication.base.json_object import Json
from replication.base.metadata_partition import METADATA_PARTITION
from replication.base.next_step import Step
from replication.copies.audit.coordinators.consumer_offsets import CONSUMER_OFFSETS, cuts
from replication.copies.audit.incident.late_checkpoints import (
    LateCheckpoint,
    late_checkpoints,
    late_in_words,
    without_late_checkpoints,
)
from replication.copies.audit.incident.recovery import Recovery, recovery_from
from replication.copies.audit.incident.stakes import Stake, stake_of
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.judgement.elected import absent_in_words, behind, untold_in_words
from replication.copies.audit.judgement.findings.absent_replicas import ELIGIBLE_REPLICA_ABSENT
from replication.copies.audit.judgement.not_given import NotGiven, not_given, unread_in_words
from replication.copies.audit.judgement.wording import acknowledged_in_words, name_of, open_in_leader, some
from replication.copies.audit.runbook.backups import BROKERS, compare_again
from replication.copies.audit.runbook.runbook import agrees, is_well, named_as_planned, planned_start, runbook
from replication.records.coordinator_records.transaction_state import TRANSACTION_STATE

if TYPE_CHECKING:
    from replication.copies.quorum_recovery.quorum_advice import QuorumAdvice


@dataclass(frozen=True, slots=True)
class Incident:
    """Sentences and commands; everything in them is from one audit's document."""

    headline: str
    is_well: bool
    """Whether nothing needs an action: brokers may start in any order, or run already."""
    quorum: "QuorumAdvice | None"
    """Which copy of the metadata to restore controllers from; None where there is no copy."""
    not_given: tuple[NotGiven, ...]
    """Brokers that have replicas and whose directories were not named."""
    stakes: tuple[Stake, ...]
    """The partitions in which something is at stake, the most acknowledged records first."""
    untold: tuple[str, ...]
    """Of how many of them the files do not show whom Kafka elects, and why."""
    damage: tuple[str, ...]
    """What is damaged or was not read, a line for each."""
    transactions: tuple[str, ...]
    """Those that nobody will end."""
    groups: tuple[str, ...]
    """Consumer groups that stand beyond what the next leader has."""
    recovery: Recovery | None
    """What is gone of copies from before, where there are some to compare with."""
    steps: tuple[Step, ...]

    @property
    def of_the_quorum(self) -> str | None:
        """What is said of the controllers' metadata, in one sentence: `epochlog advise` says more."""
        if self.quorum is None:
            return None
        from replication.copies.quorum_recovery.wording import in_one_line  # noqa: PLC0415  start-up time

        return in_one_line(self.quorum)

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog incident --json` prints it."""
        return {
            "headline": self.headline,
            "is_well": self.is_well,
            "quorum": self.quorum and self.quorum.as_json(),
            "not_given": [each.as_json() for each in self.not_given],
            "partitions": [stake.as_json() for stake in self.stakes],
            "damage": list(self.damage),
            "transactions": list(self.transactions),
            "groups": list(self.groups),
            "recovery": self.recovery and self.recovery.as_json(),
            "steps": [step.as_json() for step in self.steps],
        }


def incident_of(
    document: Json, bootstrap: str = BROKERS, quorum: "QuorumAdvice | None" = None, *, before: Json | None = None
) -> Incident:
    """Make it from the object that `epochlog audit --json` prints; `bootstrap` stands in the commands.

    `quorum` is the advice on the copies of `__cluster_metadata-0`, of which the audit's own comparison is left out:
    nobody chooses its leader, and a copy that lags is no loss. `before` is the same object of the copies from before a
    recovery, with which these are compared.

    >>> for stake in incident_of(audit_locally(["broker-1", "broker-2"]).document).stakes:
    ...     print(stake.partition, *stake.sentences)
    """
    document = _of_brokers(document)
    plan = planned_start(document)
    document = named_as_planned(document, plan)
    led = {each.contest.name: each for stage in plan.stages for each in stage.led}
    found = [stake for each in document["partitions"] if (stake := stake_of(each, led.get(name_of(each)))) is not None]
    stakes = sorted(found, key=lambda each: (-each.acknowledged, -each.records, each.topic, each.number))
    absent = tuple(not_given(document))
    recovery = None if before is None else recovery_from(_of_brokers(before), document)
    is_done = recovery is not None and agrees(document, quorum)
    well = is_done or is_well(document, plan, quorum)
    headline = " ".join(_headline(document, stakes, absent, is_well=well))
    steps = tuple(runbook(document, bootstrap, quorum, plan))
    if recovery is not None and before is not None:
        late = _only_late(document, quorum)
        headline = _after(document, recovery, headline, late, is_done=is_done)
        steps = () if is_done else (compare_again(_roots(document), _roots(before)),) if late else steps
    at_stake = {stake.partition for stake in stakes}
    return Incident(
        headline=headline,
        is_well=well,
        quorum=quorum,
        not_given=absent,
        stakes=tuple(stakes),
        untold=tuple(untold_in_words([each for each in document["partitions"] if name_of(each) in at_stake])),
        damage=tuple(_damage(document)),
        transactions=tuple(_transactions(document)),
        groups=tuple(_groups(document)),
        recovery=recovery,
        steps=steps,
    )


def _of_brokers(document: Json) -> Json:
    """Leave out the metadata's partition: nobody chooses its leader, and most copies lag once all has stopped."""
    return {**document, "partitions": [*filter(_is_of_brokers, document["partitions"])]}


def _only_late(document: Json, quorum: "QuorumAdvice | None") -> list[LateCheckpoint]:
    """Return the checkpoints that claim too much, where nothing else is wrong and they may be late."""
    late = late_checkpoints(document)
    return late if agrees(without_late_checkpoints(document, late), quorum) else []


def _roots(document: Json) -> list[str]:
    return [root for snapshot in document["snapshots"] for root in snapshot["roots"]]


def _after(document: Json, recovery: Recovery, headline: str, late: Sequence[LateCheckpoint], *, is_done: bool) -> str:
    """Describe whether a recovery has ended, and what it has cost."""
    if is_done:
        count = counted(len(document["partitions"]), "partition")
        return f"Done: the copies of the {count} agree, and {recovery}. Nothing else is to be done."
    return f"Not done yet: so far {recovery}. {f'{late_in_words(late)}.' if late else headline}"


def _is_of_brokers(partition: Json) -> bool:
    return (partition["topic"], partition["partition"]) != METADATA_PARTITION


def _headline(document: Json, stakes: Sequence[Stake], absent: Sequence[NotGiven], *, is_well: bool) -> Iterator[str]:
    if is_well:
        agreeing = counted(len(document["partitions"]), "partition")
        yield f"Nothing needs an action but the start: the copies of the {agreeing} agree, and no damage was found."
        return
    count, unknown = len(document["partitions"]), sum(stake.verdict == "unknown" for stake in stakes)
    if unknown:
        yield f"Not everything is known: a copy of {unknown:,} of {counted(count, 'partition')} could not be read."
        return
    if not document["partitions"]:
        yield "There are no partitions of brokers to compare."
        return
    lacking = sum(stake.lacks_everybody_eligible for stake in stakes)
    if lacking:
        yield (
            f"{lacking:,} of {counted(count, 'partition')} {'has' if lacking == 1 else 'have'} no replica among these "
            "directories that is known to have everything: find its disk first."
        )
    yield _losses(count, [stake for stake in stakes if stake.loses], [*unread_in_words(absent)])


def _losses(count: int, losing: Sequence[Stake], unread: Sequence[str]) -> str:
    """Describe what depends on who leads, and what was not counted."""
    if not losing:
        none = f"No choice of a leader loses records of the {counted(count, 'partition')}, as far as the copies show"
        return "; not counted is ".join([none, *unread]) + "."
    acknowledged = sum(stake.acknowledged for stake in losing)
    are = "that is" if acknowledged == 1 else "that are"
    most = f"{counted(acknowledged, 'record')} {are} known to be acknowledged"
    if not acknowledged:
        most = f"{counted(sum(stake.records for stake in losing), 'record')}, none known to be acknowledged"
    known = f"Who leads decides what is lost in {len(losing):,} of {counted(count, 'partition')}: up to {most}"
    return ", and ".join([known, *unread]) + f".{_by_the_runbook(losing)}"


def _by_the_runbook(losing: Sequence[Stake]) -> str:
    """Describe what is lost all the same, as far as it is decided who leads."""
    cost, undecided = Cost(), [stake.partition for stake in losing if stake.cost is None]
    for stake in losing:
        cost = cost.plus(stake.cost or Cost())
    but = f", and of {some(undecided)} it is not decided" if undecided else ""
    if not cost.records:
        return f" By the runbook below none of these is lost{but}." if len(undecided) < len(losing) else ""
    told = acknowledged_in_words(cost.records, cost.acknowledged, cost.maybe)
    are = "is" if cost.records == 1 else "are"
    return f" By the runbook below {counted(cost.records, 'record')} {are} lost, {told}{but}."


def _damage(document: Json) -> Iterator[str]:
    """Name what is damaged, by copy: its first finding, and how many there are."""
    first: dict[tuple[str, str], list[Json]] = {}
    disks = {snapshot["name"] for snapshot in document["snapshots"] if len(snapshot["roots"]) > 1}
    directories = {
        (name_of(each), branch["replica"]): branch["directory"]
        for each in document["partitions"]
        for branch in each["branches"]
    }
    for each in document["findings"]:
        if each["severity"] == Severity.ERROR.value and each["kind"] != ELIGIBLE_REPLICA_ABSENT:
            place = "its root" if each["topic"] is None else f"{each['topic']}-{each['partition']}"
            if each["replica"] in disks and (place, each["replica"]) in directories:
                place = directories[place, each["replica"]]
            first.setdefault((each["replica"], place), []).append(each)
    for (replica, place), of_copy in first.items():
        rest = f" ({counted(len(of_copy) - 1, 'more finding')})" if len(of_copy) > 1 else ""
        yield f"{replica}, {place}: {of_copy[0]['message']}{rest}"


def _transactions(document: Json) -> Iterator[str]:
    yield from map(_transaction, document["hanging_transactions"])
    count = sum(map(open_in_leader, document["partitions"]))
    if count and not _has(document, TRANSACTION_STATE):
        open_ones = f"{counted(count, 'transaction')} {'is' if count == 1 else 'are'} open"
        yield f"not known: {open_ones}, and there is no copy of {TRANSACTION_STATE}"


def _groups(document: Json) -> Iterator[str]:
    yield from map(_group, document["consumer_offsets"])
    if _has(document, CONSUMER_OFFSETS):
        return
    if any(map(cuts, document["partitions"])):
        yield f"not known: logs are truncated, and there is no copy of {CONSUMER_OFFSETS}"
    if elsewhere := [each for each in _maybe_longer(document) if not cuts(each)]:
        yield (
            f"not looked for in {counted(len(elsewhere), 'partition')} of which no copy here is cut, and of which one "
            "that is not here may have had more: a group that has read that skips what is written in its place. "
            "Compare what `kafka-consumer-groups.sh --describe --all-groups` shows with the ends before consumers start"
        )


def _maybe_longer(document: Json) -> Iterator[Json]:
    """Pick the partitions of which a copy that is not here, or no longer, may have had more than those that are."""
    elsewhere = {name for broker in not_given(document) for name in broker.partitions}
    for each in document["partitions"]:
        if name_of(each) in elsewhere or absent_in_words(each) or each["missing"] or behind(each):
            yield each


def _has(document: Json, topic: str) -> bool:
    """Return whether a topic's copies could be read, at least of one partition."""
    return any(each["topic"] == topic and each["recommended"] is not None for each in document["partitions"])


def _transaction(each: Json) -> str:
    whose = each["transactional_id"] or f"producer {each['producer_id']}"
    return (
        f"{each['topic']}-{each['partition']}: the transaction of {whose} that begins at offset "
        f"{each['first_offset']:,} has no end, and no coordinator will write one"
    )


def _group(each: Json) -> str:
    return (
        f"{each['topic']}-{each['partition']}: group {each['group']} stands at {each['committed_offset']:,}; what it "
        f"has read matches {each['replica']} only up to {each['truncate_to']:,}; what it has read beyond that was "
        "acknowledged"
    )
