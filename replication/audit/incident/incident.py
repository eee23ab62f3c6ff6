"""An incident: what an audit has found, as somebody needs it who has to decide which broker leads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logstore.verify import Severity
from replication.audit.coordinators.consumer_offsets import CONSUMER_OFFSETS, cuts
from replication.audit.incident.stakes import Stake, stake_of
from replication.audit.judgement.elected import absent_in_words, behind_in_words
from replication.audit.judgement.not_given import NotGiven, not_given, unread_in_words
from replication.audit.judgement.wording import name_of, open_in_leader
from replication.audit.runbook.runbook import BROKERS, runbook
from replication.coordinator_records.transaction_state import TRANSACTION_STATE
from replication.counted import counted
from replication.metadata_partition import METADATA_PARTITION
from replication.next_step import Step

if TYPE_CHECKING:
    from replication.quorum_recovery import QuorumAdvice

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Incident:
    """Sentences and commands; everything in them is from one audit's document."""

    headline: str
    quorum: "QuorumAdvice | None"
    """Which copy of the metadata to restore controllers from; None where there is no copy."""
    not_given: tuple[NotGiven, ...]
    """Brokers that have replicas and whose directories were not named."""
    stakes: tuple[Stake, ...]
    """The partitions in which something is at stake, the most acknowledged records first."""
    damage: tuple[str, ...]
    """What is damaged or was not read, a line for each."""
    transactions: tuple[str, ...]
    """Those that nobody will end."""
    groups: tuple[str, ...]
    """Consumer groups that stand beyond what the next leader has."""
    steps: tuple[Step, ...]

    @property
    def of_the_quorum(self) -> str | None:
        """What is said of the controllers' metadata, in one sentence: `epochlog advise` says more."""
        if self.quorum is None:
            return None
        from replication.quorum_recovery.wording import in_one_line  # noqa: PLC0415  start-up time

        return in_one_line(self.quorum)

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog incident --json` prints it."""
        return {
            "headline": self.headline,
            "quorum": self.quorum and self.quorum.as_json(),
            "not_given": [each.as_json() for each in self.not_given],
            "partitions": [stake.as_json() for stake in self.stakes],
            "damage": list(self.damage),
            "transactions": list(self.transactions),
            "groups": list(self.groups),
            "steps": [step.as_json() for step in self.steps],
        }


def incident_of(document: Json, bootstrap: str = BROKERS, quorum: "QuorumAdvice | None" = None) -> Incident:
    """Make it from the object that `epochlog audit --json` prints; `bootstrap` stands in the commands.

    `quorum` is the advice on the copies of `__cluster_metadata-0`, of which the audit's own comparison is left out:
    nobody chooses its leader, and a copy that lags is no loss.

    >>> for stake in incident_of(audit_locally(["broker-1", "broker-2"]).document).stakes:
    ...     print(stake.partition, *stake.sentences)
    """
    document = {**document, "partitions": [*filter(_is_of_brokers, document["partitions"])]}
    found = [stake for stake in map(stake_of, document["partitions"]) if stake is not None]
    stakes = sorted(found, key=lambda each: (-each.acknowledged, -each.records, each.topic, each.number))
    absent = tuple(not_given(document))
    return Incident(
        headline=" ".join(_headline(document, stakes, absent)),
        quorum=quorum,
        not_given=absent,
        stakes=tuple(stakes),
        damage=tuple(_damage(document["findings"])),
        transactions=tuple(_transactions(document)),
        groups=tuple(_groups(document)),
        steps=tuple(runbook(document, bootstrap, quorum)),
    )


def _is_of_brokers(partition: Json) -> bool:
    return (partition["topic"], partition["partition"]) != METADATA_PARTITION


def _headline(document: Json, stakes: Sequence[Stake], absent: Sequence[NotGiven]) -> Iterator[str]:
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
    """Say what depends on who leads, and what nobody has counted."""
    if not losing:
        none = f"No choice of a leader loses records of the {counted(count, 'partition')}, as far as the copies show"
        return "; not counted is ".join([none, *unread]) + "."
    acknowledged = sum(stake.acknowledged for stake in losing)
    are = "that is" if acknowledged == 1 else "that are"
    known = (
        f"Who leads decides what is lost in {len(losing):,} of {counted(count, 'partition')}: up to "
        f"{counted(acknowledged, 'record')} {are} known to be acknowledged"
    )
    return ", and ".join([known, *unread]) + "."


def _damage(findings: Sequence[Json]) -> Iterator[str]:
    """Name what is damaged, by copy: its first finding, and how many there are."""
    first: dict[tuple[str, str], list[Json]] = {}
    for each in findings:
        if each["severity"] == Severity.ERROR.value:
            place = "its root" if each["topic"] is None else f"{each['topic']}-{each['partition']}"
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
    if any(map(cuts, document["partitions"])) and not _has(document, CONSUMER_OFFSETS):
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
        if name_of(each) in elsewhere or absent_in_words(each) or each["missing"] or any(behind_in_words(each)):
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
