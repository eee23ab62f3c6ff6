"""In any history, what is salvaged and what was kept are together what was acknowledged and survives, each once."""

import random
from collections import Counter
from pathlib import Path

from replication.salvage import ConflictRule, PartitionReport, Reason, SalvagedRecord, SalvageOptions, plan_salvage
from tests.campaign import Campaign
from tests.replication.copies.salvage.copies import data, write_copy
from tests.replication.copies.salvage.expected import Copies
from tests.replication.copies.salvage.history import TOPIC, History, transactions

LACKING = "broker-9"
"""It does not hold the partition."""
HISTORIES = Campaign("salvage: random histories", full=1_000, share=100)


def test_in_any_history_what_survives_is_there_once(tmp_path: Path) -> None:
    rng = random.Random(HISTORIES.seed)
    reasons: Counter[Reason] = Counter()
    salvaged = 0
    for number in range(HISTORIES.count):
        history = History(rng, tmp_path / str(number), rng.choice([2, 3, 3]), keyed=rng.choice([0, 0.05, 0.3]))
        history.run(steps=rng.randint(5, 120))
        lacking = write_copy(tmp_path / str(number) / LACKING, [data(0, b"other")], topic="u")
        history.roots.append(lacking)
        history.entries.append([])
        for kept in sorted({rng.choice(history.roots).name, history.roots[history.leader].name, LACKING}):
            report = check(history, kept)
            reasons += Counter(report.counts)
            salvaged += report.salvaged
    assert salvaged
    assert {Reason.CONTROL, Reason.ABORTED, Reason.OPEN, Reason.RESENT, Reason.CONFLICT} <= reasons.keys()
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
    HISTORIES.report(HISTORIES.count, f"{salvaged:,} records salvaged; {left_out}")


def check(history: History, kept: str) -> PartitionReport:
    plan = plan_salvage(history.roots, kept, topics=[TOPIC])
    records: list[SalvagedRecord] = []
    [report] = plan.reports(records.append)
    assert report.kept_holds == (kept != LACKING)
    [dry] = plan.reports()
    assert dry == report, "the dry run is what happens"
    assert list(plan.records()) == records
    copies = Copies({root.name: entries for root, entries in zip(history.roots, history.entries, strict=True)}, kept)
    expected = copies.expected()
    values = [record.value or b"" for record in records]
    assert Counter(values) == Counter(expected.salvaged)
    assert report.salvaged == len(values)
    assert {(each.losing.source, each.key) for each in report.conflicts} == expected.conflicts
    assert sum(each.records for each in report.conflicts) == len(expected.in_conflict)
    visible = {sent.value for entry in copies.seen[kept] for sent in entry.sent}
    assert not visible & set(values), "nothing is written that the kept copy has"
    in_doubt = {each.producer_id for each in report.transactions}
    assert {producer_of(history, value) for value in expected.left_for_a_decision} <= in_doubt
    check_acknowledged(history, copies, {*visible, *values, *expected.left_for_a_decision, *expected.in_conflict})
    check_order(history, values)
    for rule in (ConflictRule.NEWEST, ConflictRule.LOSING, ConflictRule.BOTH):
        check_rule(history, copies, rule, expected.salvaged)
    return report


def check_rule(history: History, copies: Copies, rule: ConflictRule, undisputed: set[bytes]) -> None:
    """By a rule more is salvaged, and of each transaction all that the kept copy lacks, or nothing."""
    plan = plan_salvage(history.roots, copies.kept_name, SalvageOptions(rule), topics=[TOPIC])
    values = {record.value or b"" for record in plan.records()}
    assert undisputed <= values
    visible = {sent.value for entry in copies.seen[copies.kept_name] for sent in entry.sent}
    for entries in copies.losing.values():
        for batches, end in transactions(entries):
            lacking = {each.value for entry in batches for each in entry.sent} - visible
            if end and end.commits:
                assert not lacking & values or lacking <= values, "a transaction is whole"


def check_acknowledged(history: History, copies: Copies, accounted: set[bytes]) -> None:
    """What was acknowledged and survives where a consumer would see it is kept, salvaged, or left for a decision."""
    surviving = {sent.value for entries in copies.seen.values() for entry in entries for sent in entry.sent}
    assert (history.acknowledged & surviving) - accounted == set()


def check_order(history: History, values: list[bytes]) -> None:
    numbers: dict[int | None, list[int]] = {}
    for value in values:
        numbers.setdefault(producer_of(history, value), []).append(int(value.rpartition(b"-")[2]))
    for producer, sent in numbers.items():
        assert producer is None or sent == sorted(sent)


def producer_of(history: History, value: bytes) -> int | None:
    for entries in history.entries:
        for entry in entries:
            if any(sent.value == value for sent in entry.sent):
                return entry.producer and entry.producer.producer_id
    return None
