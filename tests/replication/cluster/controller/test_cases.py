"""All recorded cases through one runner: those in tests/data/cases, or in the directory that CASES_DIR names."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.replication.cluster.controller.case import Case, Cases, Document
from tests.replication.cluster.controller.cases import (
    broker_heartbeat,
    broker_lifecycle,
    kraft_scenarios,
    leader_election_tool,
    partition_change,
    seed_examples,
    zk_controller,
)

DIRECTORY = Path(os.environ.get("CASES_DIR", Path(__file__).parents[3] / "data/cases"))

KINDS: Mapping[str, Callable[[Document], Cases]] = {
    "broker_heartbeat": broker_heartbeat.cases,
    "broker_lifecycle": broker_lifecycle.cases,
    "kraft_scenarios": kraft_scenarios.cases,
    "leader_election_tool": leader_election_tool.cases,
    "partition_change": partition_change.cases,
    "seed_examples": seed_examples.cases,
    "zk_controller": zk_controller.cases,
}


def recorded() -> Iterator[ParameterSet]:
    """Yield each case of each file; a file of a kind that nobody knows is a case that fails."""
    for file in sorted(DIRECTORY.glob("*.json")):
        kind = next((name for name in KINDS if file.stem.startswith(name)), None)
        if kind is None:
            yield pytest.param(Case(file.stem, lambda: pytest.fail("nobody knows this kind of case")), id=file.stem)
            continue
        for case in KINDS[kind](json.loads(file.read_text())):
            marks = [pytest.mark.xfail(reason=f"needs {case.not_yet}", strict=True)] if case.not_yet else []
            yield pytest.param(case, id=f"{file.stem}-{case.name}", marks=marks)


@pytest.mark.parametrize("case", [*recorded()])
def test_kafka_decided_so(case: Case) -> None:
    case.check()


def test_there_are_cases() -> None:
    assert any(DIRECTORY.glob("*.json")), f"{DIRECTORY} holds no cases"
