"""What is known of the replicas is what Kafka says of them, whichever release is asked."""

import json
from typing import Any

import pytest

from tests.data.make_cross_truth import cross_truth_of
from tests.data.make_truth import truth_of
from tests.data.replicas import IN_TURN, cross, truth
from tests.oracle.release import KafkaRelease


def ensure_within(told: Any, known: Any, place: str) -> None:
    """See that all that Kafka tells is known; more may be, and other names of what told it."""
    if isinstance(told, dict):
        for name in told.keys() - {"generator", "note"}:
            ensure_within(told[name], known[name], f"{place}/{name}")
    elif isinstance(told, list) and isinstance(known, list):
        assert len(told) == len(known), place
        for number, pair in enumerate(zip(told, known, strict=True)):
            ensure_within(*pair, f"{place}/{number}")
    else:
        assert told == known, place


@pytest.mark.parametrize("label", IN_TURN)
def test_files_hold_what_kafkas_tool_prints(label: str, release: KafkaRelease) -> None:
    told = json.loads(json.dumps(truth_of(release, label)))
    assert told["brokers"].keys() == truth(label)["brokers"].keys()
    ensure_within(told, truth(label), label)


@pytest.mark.parametrize("label", IN_TURN)
def test_replicas_follow_each_other_as_kafkas_logs_do(label: str, release: KafkaRelease) -> None:
    told = json.loads(json.dumps(cross_truth_of(release, label)))
    assert told["partitions"].keys() == cross(label)["partitions"].keys()
    ensure_within(told, cross(label), label)
