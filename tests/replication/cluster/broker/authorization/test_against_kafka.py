"""Kafka's own authorizer beside ours: random entries, and the same questions about them."""

import json
import random
from collections.abc import Iterator
from uuid import UUID

import pytest

from replication.cluster.broker.authorization.authorizer import Authorizer
from replication.cluster.broker.authorization.authorizer_settings import AuthorizerSettings
from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.records.metadata.records import AccessControlEntryRecord
from replication.wire.server.call import Caller
from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.authorization.random_access import AccessCase, Question, access_case

QUESTIONS = 30


@pytest.fixture(scope="module")
def kafka(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "AuthorizerOracle") as program:
        yield program


def ours(case: AccessCase) -> str:
    properties = {"super.users": case.super_users, "allow.everyone.if.no.acl.found": str(case.everyone)}
    authorizer = Authorizer(case.image, AuthorizerSettings.of_properties(properties))
    told = []
    for each in case.questions:
        permissions = authorizer.permissions(Caller(each.address, each.principal))
        if each.name is None:
            told.append(permissions.may_somewhere(each.operation, each.kind))
        else:
            told.append(permissions.may(each.operation, each.kind, each.name))
    return "".join("1" if each else "0" for each in told)


def test_the_same_is_allowed_by_random_entries(kafka: JavaProgram) -> None:
    campaign = Campaign("access control beside Kafka's authorizer", full=10_000, share=500)
    chance = random.Random(campaign.seed)
    asked = allowed = 0
    for _ in range(campaign.count):
        case = access_case(chance, QUESTIONS)
        answers = ours(case)
        (expected,) = kafka.ask(json.dumps(case.as_json()))
        for question, told, wanted in zip(case.questions, answers, expected, strict=True):
            assert told == wanted, (question, case)
        asked += len(answers)
        allowed += answers.count("1")
    assert 0.1 < allowed / asked < 0.9
    campaign.report(campaign.count, f"{asked:,} questions, {allowed:,} allowed", beside=kafka.release)


def test_an_entry_about_all_is_about_names_with_a_star_too(kafka: JavaProgram) -> None:
    """Which Kafka forgets: whoever is denied all groups may use one called `*d`, as far as other entries allow."""
    entries = tuple(
        AccessControlEntryRecord(
            id=UUID(int=number),
            resource_type=ResourceType.GROUP,
            resource_name="*",
            pattern_type=pattern,
            principal="User:alice",
            host="*",
            operation=Operation.READ,
            permission_type=permission,
        )
        for number, (pattern, permission) in enumerate([(3, 2), (4, 3)], 1)
    )
    asked = tuple(Question("User:alice", "10.0.0.1", Operation.READ, ResourceType.GROUP, each) for each in ("d", "*d"))
    case = AccessCase("", everyone=False, entries=entries, questions=asked)
    assert ours(case) == "00"
    assert kafka.ask(json.dumps(case.as_json())) == ["01"]
