"""A real broker with an authorizer and a server of ours, asked the same by users who may do different things."""

import random
from collections.abc import Iterator
from functools import partial

import pytest
from confluent_kafka.admin import AclBinding

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.wire.server.call import Caller
from tests.campaign import Campaign, run_seed
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.authorization.guarded_pair import TOPICS, USERS, GuardedPair, binding
from tests.replication.cluster.broker.authorization.random_administration import RandomAdministration
from tests.replication.cluster.broker.authorization.random_questions import GROUPS, RandomQuestions
from tests.replication.cluster.broker.authorization.told_errors import told_errors

BINDINGS = [
    binding("alice", "READ", "TOPIC", "orders"),
    binding("alice", "READ", "GROUP", "g"),
    binding("alice", "DESCRIBE", "TOPIC", "plain"),
    binding("bob", "WRITE", "TOPIC", "order", is_prefix=True),
    binding("bob", "WRITE", "TOPIC", "orders-2", is_denied=True),
    binding("bob", "CREATE", "TOPIC", "order", is_prefix=True),
    binding("bob", "DESCRIBE", "TOPIC", "new-", is_prefix=True),
    binding("bob", "DESCRIBE", "TOPIC", "unknown"),
    binding("bob", "WRITE", "TRANSACTIONAL_ID", "tx"),
    binding("carol", "CLUSTER_ACTION", "BROKER", "kafka-cluster"),
    binding("carol", "DESCRIBE", "BROKER", "kafka-cluster"),
    binding("carol", "IDEMPOTENT_WRITE", "BROKER", "kafka-cluster"),
    binding("carol", "DESCRIBE_CONFIGS", "TOPIC", "*", host="127.0.0.1"),
    binding("carol", "READ", "TOPIC", "*", host="10.0.0.1"),
    binding("dave", "ALL", "TOPIC", "*"),
    binding("dave", "DESCRIBE", "TOPIC", "secret", is_denied=True),
    binding("dave", "DELETE", "TOPIC", "plain", is_denied=True),
    binding("dave", "ALL", "GROUP", "g", is_prefix=True),
    binding("dave", "ALTER", "BROKER", "kafka-cluster"),
    binding("dave", "DESCRIBE_CONFIGS", "BROKER", "kafka-cluster"),
    binding("*", "DESCRIBE", "GROUP", "g-2"),
]


OPERATIONS = {
    "TOPIC": ("READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALL"),
    "GROUP": ("READ", "DESCRIBE", "DELETE", "ALL"),
    "BROKER": ("CREATE", "CLUSTER_ACTION", "DESCRIBE", "ALTER", "DESCRIBE_CONFIGS", "IDEMPOTENT_WRITE"),
}
NAMES = {"TOPIC": (*TOPICS, "*", "o", "order", "new-"), "GROUP": (*GROUPS, "*"), "BROKER": ("kafka-cluster",)}


def random_bindings(rng: random.Random) -> list[AclBinding]:
    """Some of erin and frank: of this day."""
    made = []
    for _ in range(16):
        kind = rng.choice(list(NAMES))
        name = rng.choice(NAMES[kind])
        made.append(
            binding(
                rng.choice(("erin", "frank")),
                rng.choice(OPERATIONS[kind]),
                kind,
                name,
                is_prefix=name not in {"*", "kafka-cluster"} and rng.random() < 0.5,
                is_denied=rng.random() < 0.3,
                host=rng.choice(("*", "127.0.0.1", "10.0.0.1")),
            )
        )
    return list(dict.fromkeys(made))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[GuardedPair]:
    bindings = [*BINDINGS, *random_bindings(random.Random(run_seed()))]
    with GuardedPair(tmp_path_factory.mktemp("guarded"), release, bindings) as both:
        yield both


def test_the_same_is_answered_to_each_user(pair: GuardedPair, release: KafkaRelease) -> None:
    campaign = Campaign("requests of users beside a guarded broker", full=10_000, share=400)
    rng = random.Random(campaign.seed)
    questions = RandomQuestions(rng, {name: pair.image.topics.by_name[name].id for name in TOPICS})
    denied = 0
    for _ in range(campaign.count):
        user, (key, request, version) = rng.choice(USERS), questions.any()
        answers = pair.ask(user, key, request, version)
        theirs, ours = told_errors(*answers)
        assert ours == theirs, (user, key, version, request)
        denied += "authorization_failed" in repr(ours).lower()
    assert denied > campaign.count // 5
    campaign.report(campaign.count, f"{denied:,} with something that was denied", beside=release)


def test_the_same_is_answered_to_each_administrator(pair: GuardedPair, release: KafkaRelease) -> None:
    campaign = Campaign("requests of administrators beside a guarded broker", full=5_000, share=200)
    rng = random.Random(campaign.seed)
    questions = RandomAdministration(rng, {name: pair.image.topics.by_name[name].id for name in TOPICS})
    denied = 0
    for _ in range(campaign.count):
        user = rng.choice(USERS)
        permissions = pair.permissions(Caller("127.0.0.1", f"User:{user}"))
        key, request, version = questions.any(partial(permissions.may, Operation.DELETE, ResourceType.TOPIC))
        theirs, ours = told_errors(*pair.ask(user, key, request, version))
        assert ours == theirs, (user, key, version, request)
        denied += "authorization_failed" in repr(ours).lower()
    assert denied > campaign.count // 5
    campaign.report(campaign.count, f"{denied:,} with something that was denied", beside=release)
