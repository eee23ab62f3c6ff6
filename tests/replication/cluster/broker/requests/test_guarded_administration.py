"""What is not guarded is not served; test_guarded_pair.py compares what is with a real controller's answers."""

import pytest

from replication.cluster.broker.authorization.authorizer import Authorizer
from replication.cluster.broker.authorization.permissions import unlimited
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.broker.requests.guarded_administration import guarded_administration
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.records.metadata.image import ClusterImage
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call, Caller
from replication.wire.server.served_api import ServedApi
from tests.replication.cluster.broker.authorization.stub_administration import stub_administration

CLUSTER = KnownCluster("id", 1, ClusterImage)


def test_all_that_is_served_is_served_in_the_same_versions() -> None:
    apis = stub_administration()
    guarded = guarded_administration(apis, CLUSTER, unlimited)
    assert {key: api.versions for key, api in guarded.items()} == {key: api.versions for key, api in apis.items()}


def test_a_request_of_which_nobody_knows_the_rights_is_refused_before_it_is_served() -> None:
    with pytest.raises(ValueError, match=r"\[48\]"):
        guarded_administration({48: ServedApi(range(1), print)}, CLUSTER, unlimited)


def test_brokers_are_unregistered_by_who_may_alter_the_cluster() -> None:
    for permissions, error in ((unlimited, 0), (Authorizer(ClusterImage).permissions, 31)):
        guarded = guarded_administration(stub_administration(), CLUSTER, permissions)
        answer = guarded[64].answer(None, Call(0, Caller("127.0.0.1", "User:nobody")))
        assert answer.error_code == error


@pytest.mark.parametrize("version", range(3))
def test_features_are_updated_by_who_may_alter_the_cluster(version: int) -> None:
    done = {"error_code": ErrorCode.NONE, "error_message": None, "results": []}
    apis = {57: ServedApi(range(3), lambda _, call: kio_answer(57, call.version, done))}
    for permissions, error in ((unlimited, 0), (Authorizer(ClusterImage).permissions, 31)):
        answer = guarded_administration(apis, CLUSTER, permissions)[57]
        assert answer.answer(None, Call(version, Caller("127.0.0.1", "User:nobody"))).error_code == error
