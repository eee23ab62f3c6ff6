"""Answers DescribeUserScramCredentials: who may log in by SCRAM, without what proves it (KIP-554)."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.wire.encoding.kio_messages import served_versions
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call

API_KEY: Final = 50
VERSIONS: Final = served_versions(API_KEY) or range(0)

_NO_ERROR: Final = {"error_code": ErrorCode.NONE, "error_message": ""}
_TWICE: Final = "Cannot describe SCRAM credentials for the same user twice in a single request: {}"
_UNKNOWN: Final = "Attempt to describe a user credential that does not exist: {}"


class DescribedUsers:
    """Describes the metadata's users (Kafka: ScramImage)."""

    def __init__(self, cluster: KnownCluster, permissions: PermissionsOf = unlimited) -> None:
        """Describe the users of this cluster to those who may describe it."""
        self._cluster: Final = cluster
        self._permissions: Final = permissions

    def answer(self, request: Any, call: Call) -> Any:
        """Answer for each user that is named; for all where none is."""
        if not self._permissions(call.caller).may(Operation.DESCRIBE, ResourceType.CLUSTER):
            denied = {"error_code": ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "error_message": None}
            results = [{"user": "", **denied, "credential_infos": ()} for _ in request.users or ()]
            return kio_answer(API_KEY, call.version, {**denied, "results": results})
        known: defaultdict[str, list[dict[str, int]]] = defaultdict(list)
        for (mechanism, name), credential in sorted(self._cluster.image().scram_credentials.items()):
            known[name].append({"mechanism": mechanism, "iterations": credential.iterations})
        asked = Counter(each.name for each in request.users or ()) or dict.fromkeys(known, 1)
        results = [_described(name, count, known) for name, count in asked.items()]
        return kio_answer(API_KEY, call.version, {**_NO_ERROR, "results": results})


def _described(name: str, count: int, known: Mapping[str, list[dict[str, int]]]) -> dict[str, Any]:
    if count > 1:
        error, message = ErrorCode.DUPLICATE_RESOURCE, _TWICE.format(name)
    elif name not in known:
        error, message = ErrorCode.RESOURCE_NOT_FOUND, _UNKNOWN.format(name)
    else:
        return {"user": name, **_NO_ERROR, "credential_infos": known[name]}
    return {"user": name, "error_code": error, "error_message": message, "credential_infos": ()}
