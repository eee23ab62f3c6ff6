"""Kafka's own reading of a broker's listeners beside ours: the same are refused, and the others say the same."""

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from replication.cli.settings.listener_faults import listener_faults
from replication.cli.settings.named_listeners import NamedListeners
from replication.wire.errors import InvalidSettingsError
from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.cli.settings.random_listeners import RandomListeners

NODE = {"process.roles": "broker", "node.id": "9", "log.dirs": "/x", "controller.quorum.voters": "1@c:1"}


@pytest.fixture(scope="module")
def kafka(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "ListenersOracle") as program:
        yield program


def ours(given: Mapping[str, str]) -> dict[str, Any]:
    try:
        found = NamedListeners.of(given)
    except InvalidSettingsError as error:
        return {"fault": str(error)}
    if faults := list(listener_faults(given, found)):
        return {"fault": "; ".join(faults)}
    return {
        "listeners": [[name, *address, found.protocol(name)] for name, address in found.own],
        "advertised": [[name, *address, found.protocol(name)] for name, address in found.registered],
        "inter_broker": found.inter_broker,
    }


def theirs(told: str) -> dict[str, Any]:
    """What Kafka tells: it has null for all addresses of a machine."""
    found: dict[str, Any] = json.loads(told)
    for kind in ("listeners", "advertised"):
        for entry in found.get(kind, ()):
            entry[1] = entry[1] or ""
    return found


def test_the_same_listeners_are_refused_and_the_others_are_read_alike(kafka: JavaProgram) -> None:
    campaign = Campaign("listeners beside Kafka's configuration", full=20_000, share=500)
    draw = RandomListeners(random.Random(campaign.seed))
    refused = 0
    for _ in range(campaign.count):
        given = draw.any()
        (told,) = kafka.ask(json.dumps({**NODE, **given}))
        expected, found = theirs(told), ours(given)
        if "fault" in expected:
            refused += 1
            assert "fault" in found, (given, expected)
        else:
            assert found == expected, given
    assert 0.2 < refused / campaign.count < 0.9
    campaign.report(campaign.count, f"{refused:,} refused", beside=kafka.release)
