"""Recovery points that a broker wrote before it lost the logs that they are of, and has not written since."""

from collections.abc import Collection
from typing import NamedTuple

from logstore.verify.root_check import RECOVERY_POINT_BEYOND_END
from replication.base.json_object import Json
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.judgement.wording import some
from replication.copies.audit.runbook.runbook import BAD


class LateCheckpoint(NamedTuple):
    """A recovery point beyond the end of a copy whose broker has not stopped in order since."""

    topic: str
    partition: int
    replica: str


def late_checkpoints(document: Json) -> list[LateCheckpoint]:
    """Find those that may be late in the object that `epochlog audit --json` prints.

    Kafka's broker writes its recovery points once a minute, and as it stops: one that has stopped in order has none
    that are late. High watermarks are none of them: they are written every few seconds, and show what was acknowledged.
    """
    closed = {each["name"] for each in document["snapshots"] if each["clean_shutdown"]}
    found = (
        LateCheckpoint(each["topic"], each["partition"], each["replica"])
        for each in document["findings"]
        if each["kind"] == RECOVERY_POINT_BEYOND_END and each["replica"] not in closed
    )
    return [*dict.fromkeys(found)]


def without_late_checkpoints(document: Json, late: Collection[LateCheckpoint]) -> Json:
    """Return what would be known if these files had been written by now: the logs and all else as they are."""
    findings = [each for each in document["findings"] if not _is_late(each, late)]
    damaged = {(each["topic"], each["partition"]) for each in findings if each["severity"] in BAD}
    late_ones = {(each.topic, each.partition) for each in late} - damaged
    return {
        **document,
        "findings": findings,
        "partitions": [_undamaged(each) if _place(each) in late_ones else each for each in document["partitions"]],
    }


def late_in_words(late: Collection[LateCheckpoint]) -> str:
    """Describe what they may be, and how to find out.

    >>> late_in_words([LateCheckpoint("pay", 0, "broker-2")])
    'All copies agree, but recovery points are beyond the ends of logs (pay-0 on broker-2). A broker that runs ...'
    """
    copies = some([f"{each.topic}-{each.partition} on {each.replica}" for each in late])
    return (
        f"All copies agree, but recovery points are beyond the ends of logs ({copies}). A broker that runs writes them "
        "down once a minute, so they may be of logs that it has lost before. Copy the directories once more two "
        "minutes after the last start, and compare again: if it says the same then, these copies have lost records"
    )


def _is_late(finding: Json, late: Collection[LateCheckpoint]) -> bool:
    return finding["kind"] == RECOVERY_POINT_BEYOND_END and (*_place(finding), finding["replica"]) in late


def _undamaged(partition: Json) -> Json:
    return {**partition, "verdicts": [each for each in partition["verdicts"] if each != Verdict.DAMAGED]}


def _place(each: Json) -> tuple[str, int]:
    return each["topic"], each["partition"]
