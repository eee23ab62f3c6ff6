"""A broker refuses to be set to what would make no difference to it, and passes on the rest."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replication.cluster.broker.requests.effective_changes import effective_changes
from replication.records.metadata.settings.ineffective_settings import OF_BROKERS
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.standalone.requests.asked import (
    BROKER,
    SET,
    TOPIC,
    UNSET,
    alter,
    change,
    create,
    replace,
    replaced,
    resource,
    topic,
)
from tests.replication.cluster.standalone.requests.small_standalone import SmallStandalone

NO_DIFFERENCE = "makes no difference here"
NONE, INVALID = ErrorCode.NONE, ErrorCode.INVALID_REQUEST


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SmallStandalone]:
    cluster = SmallStandalone(tmp_path)
    cluster.ask(create(topic("a")))
    cluster.apis = effective_changes(cluster.apis, alone=True)
    yield cluster
    cluster.close()


def answers(cluster: SmallStandalone, request: Any) -> dict[str, tuple[int, str | None]]:
    told = cluster.ask(request).responses
    return {each.resource_name: (each.error_code.value, each.error_message) for each in told}


def test_what_makes_no_difference_is_refused_by_name_and_other_resources_are_set(cluster: SmallStandalone) -> None:
    threads = change("num.io.threads", SET, "8"), change("num.network.threads", SET, "8")
    told = answers(
        cluster,
        alter(
            resource(BROKER, "1", change("log.retention.ms", SET, "5"), *threads, change("max.connections", SET, "9")),
            resource(BROKER, "", change("log.retention.ms", SET, "7")),
            resource(TOPIC, "a", change("preallocate", SET, "true")),
        ),
    )
    threads_said = f"num.io.threads, num.network.threads: {NO_DIFFERENCE}: {OF_BROKERS['num.io.threads']}"
    limit_said = f"max.connections: {NO_DIFFERENCE}: {OF_BROKERS['max.connections']}"
    assert told == {"1": (INVALID, f"{threads_said}; {limit_said}"), "": (NONE, None), "a": (NONE, None)}
    known = cluster.image.configurations
    assert (dict(known.of(BROKER, "1")), known.of(BROKER, "")["log.retention.ms"]) == ({}, "7")


def test_what_was_set_by_another_way_may_be_deleted(cluster: SmallStandalone) -> None:
    assert answers(cluster, alter(resource(BROKER, "1", change("num.io.threads", UNSET))))["1"] == (NONE, None)


def test_what_replaces_all_is_looked_at_too(cluster: SmallStandalone) -> None:
    told = answers(cluster, replace(replaced(BROKER, "1", num_io_threads="8")))
    assert told["1"] == (
        INVALID,
        "num.io.threads: makes no difference here: threads come and go with what there is to do",
    )
    assert answers(cluster, replace(replaced(BROKER, "1", log_retention_ms="8")))["1"] == (NONE, None)


def test_only_for_all_brokers_it_is_set_who_may_be_elected(cluster: SmallStandalone) -> None:
    unclean = change("unclean.leader.election.enable", SET, "true")
    told = answers(cluster, alter(resource(BROKER, "1", unclean), resource(BROKER, "", unclean)))
    assert {name: error for name, (error, _) in told.items()} == {"1": INVALID, "": NONE}


def test_of_all_brokers_only_one_that_is_alone_knows_what_makes_no_difference(cluster: SmallStandalone) -> None:
    for_all = alter(resource(BROKER, "", change("num.io.threads", SET, "8")))
    assert answers(cluster, for_all)[""] == (
        INVALID,
        f"num.io.threads: {NO_DIFFERENCE}: {OF_BROKERS['num.io.threads']}",
    )
    cluster.reopen()
    cluster.apis = effective_changes(cluster.apis, alone=False)
    assert answers(cluster, for_all)[""] == (NONE, None)
