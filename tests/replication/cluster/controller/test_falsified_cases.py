"""The runner of recorded cases notices what is wrong: each expectation, falsified, fails its case."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from tests.campaign import Campaign
from tests.replication.cluster.controller.case import Case
from tests.replication.cluster.controller.test_cases import KINDS

CASES = Path(__file__).parents[3] / "data/cases"
EXPECTATIONS: Mapping[str, tuple[str, ...]] = {
    "broker_heartbeat": ("next", "reply_is_fenced", "reply_should_shut_down", "reply_is_caught_up", "valid_session"),
    "broker_lifecycle": ("state_when_sent", "state_after", "broker_epoch_after", "want_fence", "final_state"),
    "kraft_scenarios": ("expect",),
    "partition_change": ("expected", "kafka_3_0", "derived"),
    "seed_examples": ("expected",),
    "zk_controller": ("expected", "valid"),
}
UNCOMPARED = {"why", "differs_in", "leader_in", "invalid entry"}
"""What is there to be read, is one of several that may be, or is told in words of its own."""
CAMPAIGN = Campaign("falsified expectations", full=5_500, share=300)

Place: TypeAlias = tuple[str | int, ...]


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """The places of all plain values in a document."""
    if isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*place, name))
    elif value is not None:
        yield place


def falsified(document: dict[str, Any], place: Place) -> dict[str, Any]:
    false = deepcopy(document)
    holder = false
    for name in place[:-1]:
        holder = holder[name]  # type: ignore[index]
    value = holder[place[-1]]  # type: ignore[index]
    others = {bool: lambda: not value, int: lambda: value + 77, str: lambda: f"{value}?"}
    holder[place[-1]] = others[type(value)]()  # type: ignore[index]
    return false


def expectations() -> Iterator[tuple[str, dict[str, Any], Place]]:
    """Each expectation, in a document of its case alone."""
    for kind, names in EXPECTATIONS.items():
        document = json.loads((CASES / f"{kind}.json").read_text())
        lists = {name: each for name, each in document.items() if isinstance(each, list) and isinstance(each[0], dict)}
        for name, cases in lists.items():
            for case in cases:
                alone = {"source": "", name: [case]}
                for place in places(case):
                    told = {*place, get(case, place)}
                    if told.intersection(names) and not told & UNCOMPARED:
                        yield kind, alone, (name, 0, *place)


def get(value: Any, place: Place) -> Any:
    for name in place:
        value = value[name]
    return value


def fails(case: Case) -> bool:
    try:
        case.check()
    except (AssertionError, LookupError, ValueError):
        return True
    return False


def test_each_expectation_counts() -> None:
    known = list(expectations())
    assert len(known) < CAMPAIGN.full
    for kind, document, place in Random(CAMPAIGN.seed).sample(known, min(CAMPAIGN.count, len(known))):
        (case,) = KINDS[kind](falsified(document, place))
        assert fails(case), f"{kind} passes with another {place} in {document}"
    CAMPAIGN.report(min(CAMPAIGN.count, len(known)))
