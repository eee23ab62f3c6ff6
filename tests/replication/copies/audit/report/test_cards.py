"""Who has a card, in an audit of random clusters: each partition in trouble, the worst first, and links lead there."""

import json
import re
from typing import Any, NamedTuple

import pytest

from replication.audit import audit_locally
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.report import render
from tests.replication.copies.audit.random_clusters import write_clusters

CLUSTERS = 90
COME_TO_AGREE = {"lagging", "compaction", "retention", "identical"}
"""Verdicts under which followers need nobody's help."""


class Audit(NamedTuple):
    """An audit and its page."""

    partitions: dict[str, dict[str, Any]]
    """By name."""
    severities: dict[str, set[str]]
    """Of the findings of each partition."""
    page: str


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    roots = write_clusters(tmp_path_factory.mktemp("clusters"), "cards", range(CLUSTERS))
    document = audit_locally(roots, workers=0).document
    partitions = {f"{each['topic']}-{each['partition']}": each for each in document["partitions"]}
    severities: dict[str, set[str]] = {name: set() for name in partitions}
    for finding in document["findings"]:
        severities.setdefault(f"{finding['topic']}-{finding['partition']}", set()).add(finding["severity"])
    return Audit(partitions, severities, render(document))


def cards(page: str) -> dict[str, str]:
    """The id of each card, in order, with the partition that it is of."""
    found = re.findall(r'<section class="card" id="(card-\d+)".*?<h3 id="\1-name">(\S+) ', page, re.DOTALL)
    assert len(found) == page.count('<section class="card"')
    return dict(found)


def test_each_partition_in_trouble_has_one_card(audit: Audit) -> None:
    told = list(cards(audit.page).values())
    assert len(told) == len(set(told))
    trouble = {
        name
        for name, partition in audit.partitions.items()
        if not COME_TO_AGREE.issuperset(partition["verdicts"]) or audit.severities[name] & {"critical", "error"}
    }
    verdicts = {audit.partitions[name]["verdict"] for name in trouble}
    assert {"damaged", "forked", "silent-divergence"} <= verdicts, "the clusters have all kinds of trouble"
    assert trouble <= set(told)
    assert all(audit.partitions[name]["choices_differ"] for name in set(told) - trouble)
    assert len(told) < len(audit.partitions)


def test_the_worst_comes_first(audit: Audit) -> None:
    order = [
        ("critical" not in audit.severities[name], Verdict(audit.partitions[name]["verdict"]).rank)
        for name in cards(audit.page).values()
    ]
    assert order == sorted(order)
    assert len(set(order)) > 3


@pytest.mark.parametrize(("table", "column"), [("partitions", "partition"), ("findings", "partition")])
def test_each_row_of_such_a_partition_leads_to_its_card(audit: Audit, table: str, column: str) -> None:
    told = cards(audit.page)
    (data,) = re.findall(rf'id="{table}-data">(.*?)</script>', audit.page)
    read = json.loads(data)
    names = [row[read["columns"].index(column)] for row in read["rows"]]
    linked = {name for name, card in zip(names, read["cards"], strict=True) if card is not None}
    assert len(linked) > 10
    for name, card in zip(names, read["cards"], strict=True):
        assert told.get(card) == (name if name in told.values() else None)


def test_each_card_begins_with_one_sentence_and_tells_of_each_copy(audit: Audit) -> None:
    sections = re.findall(r'<section class="card".*?</section>', audit.page, re.DOTALL)
    for name, section in zip(cards(audit.page).values(), sections, strict=True):
        partition = audit.partitions[name]
        assert section.index('<p class="verdict">') < section.index("<details")
        assert section.count('<p class="verdict">') == 1
        leaders = re.findall(r"If <b>(\S+)</b> leads", section)
        assert sorted(leaders) == sorted(each["replica"] for each in partition["candidates"])
        assert section.count('<svg class="bar"') in {0, len(partition["branches"])}
