"""Users of SCRAM are described by what the metadata has, without salts and keys."""

from typing import Any

import pytest

from replication.cluster.broker.requests.cluster.described_users import API_KEY, DescribedUsers
from replication.records.metadata.records import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.authorization.random_questions import kio_request
from tests.replication.cluster.broker.requests.small_broker import SmallBroker, call

SHA_256, SHA_512 = 1, 2


@pytest.fixture
def users(broker: SmallBroker) -> SmallBroker:
    for name, mechanism, iterations in (("bob", SHA_512, 4_096), ("alice", SHA_512, 8_192), ("alice", SHA_256, 5_000)):
        keys = {"salt": b"s", "stored_key": b"k", "server_key": b"v"}
        broker.tell(UserScramCredentialRecord(name=name, mechanism=mechanism, iterations=iterations, **keys))
    return broker


def ask(broker: SmallBroker, *names: str) -> Any:
    request = kio_request(API_KEY, 0, {"users": [{"name": each} for each in names]})
    return DescribedUsers(broker.cluster).answer(request, call(0))


def told(broker: SmallBroker, *names: str) -> dict[str, list[tuple[int, int]]]:
    results = ask(broker, *names).results
    return {each.user: [(info.mechanism, info.iterations) for info in each.credential_infos] for each in results}


def test_a_user_is_described_by_its_mechanisms_and_iterations(users: SmallBroker) -> None:
    assert told(users, "alice") == {"alice": [(SHA_256, 5_000), (SHA_512, 8_192)]}


def test_who_names_nobody_is_told_of_all(users: SmallBroker) -> None:
    assert told(users) == {"alice": [(SHA_256, 5_000), (SHA_512, 8_192)], "bob": [(SHA_512, 4_096)]}
    everybody = DescribedUsers(users.cluster).answer(kio_request(API_KEY, 0, {"users": None}), call(0))
    assert everybody == ask(users)


def test_a_credential_that_is_removed_is_not_told_any_more(users: SmallBroker) -> None:
    users.tell(RemoveUserScramCredentialRecord(name="alice", mechanism=SHA_256))
    assert told(users, "alice") == {"alice": [(SHA_512, 8_192)]}


def test_whoever_is_unknown_or_named_twice_has_an_error_of_its_own(users: SmallBroker) -> None:
    errors = {each.user: each.error_code for each in ask(users, "alice", "bob", "bob", "nobody").results}
    assert errors == {
        "alice": ErrorCode.NONE,
        "bob": ErrorCode.DUPLICATE_RESOURCE,
        "nobody": ErrorCode.RESOURCE_NOT_FOUND,
    }
