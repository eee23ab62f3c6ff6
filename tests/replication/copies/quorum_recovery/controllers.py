"""An operator's changes to what a quorum of controllers keeps, over the wire: it is known which were acknowledged."""

import time
from collections.abc import Callable
from typing import Any

from kio.schema.alter_client_quotas.v1.request import AlterClientQuotasRequest, EntityData, EntryData, OpData
from kio.schema.create_acls.v3.request import AclCreation, CreateAclsRequest
from kio.schema.describe_acls.v3.request import DescribeAclsRequest
from kio.static.primitive import f64, i8

from replication.base.errors import ReplicationError
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_quorum import DescribeQuorumRequest

SECONDS_TO_AGREE = 120
SETTINGS = ClientSettings(request_timeout_ms=4_000)
TOPIC, LITERAL, READ, ALLOW, ANY = i8(2), i8(3), i8(3), i8(3), i8(1)
COUNTED = "counted"


class Controllers:
    """Those of a cluster that run, by their addresses.

    Resources of access control entries are only ever made, and the quota of one user only ever rises: so what is
    acknowledged is there whatever else is.
    """

    def __init__(self, running: Callable[[], dict[int, str]]) -> None:
        """Of each controller that is asked, the address."""
        self._running = running
        self._made = 0
        self.acknowledged: set[str] = set()
        self.counted = 0
        """The highest quota that was acknowledged."""

    def leader(self) -> int:
        """Return who leads; wait until somebody does whom the others know."""

        def asked() -> int | None:
            told = [self._ask(node, DescribeQuorumRequest()) for node in self._running()]
            leaders = {each.leader_id for each in told if each is not None and each.error is ErrorCode.NONE}
            return leaders.pop() if len(leaders) == 1 else None

        return _wait_for(asked, "no controller leads")

    def allow(self, count: int) -> None:
        """Make access control entries, and wait until they are acknowledged."""
        self.acknowledged.update(self._allow(count))

    def count(self) -> None:
        """Raise the quota, and wait until that is acknowledged."""
        self._made += 1
        self._commit(_limiting(self._made), lambda answer: [each.error_code for each in answer.entries])
        self.counted = self._made

    def allow_unheard(self, node: int, count: int) -> None:
        """Send a controller such entries, without waiting for an answer."""
        with Connection.open(self._running()[node], SETTINGS) as connection:
            connection.send(_allowing(self._names(count)))
            time.sleep(0.2)  # or closing would overtake it

    def allowed(self) -> set[str]:
        """Ask for which resources there are entries.

        A controller answers from what it has read so far of its log; so one more is made first, which must be seen.
        """
        [last] = self._allow(1)

        def asked() -> set[str] | None:
            question = DescribeAclsRequest(
                resource_type_filter=TOPIC,
                resource_name_filter=None,
                pattern_type_filter=ANY,
                principal_filter=None,
                host_filter=None,
                operation=ANY,
                permission_type=ANY,
            )
            answer = self._ask(self.leader(), question)
            found = {each.resource_name for each in answer.resources} if answer else set()
            return found - {last} if last in found else None

        return _wait_for(asked, "no controller tells of access control entries")

    def _allow(self, count: int) -> list[str]:
        names = self._names(count)
        self._commit(_allowing(names), lambda answer: [each.error_code for each in answer.results])
        return names

    def _names(self, count: int) -> list[str]:
        self._made += count
        return [f"topic-{number}" for number in range(self._made - count, self._made)]

    def _commit(self, request: Any, errors: Callable[[Any], list[Any]]) -> None:
        """Send until it is acknowledged, to whoever leads by then: what is done twice has no other outcome."""

        def acknowledged() -> bool | None:
            for node in self._running():
                answer = self._ask(node, request)
                if answer is not None and not any(error.value for error in errors(answer)):
                    return True
            return None

        _wait_for(acknowledged, "no controller acknowledges anything")

    def _ask(self, node: int, request: Any) -> Any:
        try:
            with Connection.open(self._running()[node], SETTINGS) as connection:
                return connection.ask(request)
        except (ReplicationError, OSError):
            return None


def _allowing(names: list[str]) -> CreateAclsRequest:
    return CreateAclsRequest(
        creations=tuple(
            AclCreation(
                resource_type=TOPIC,
                resource_name=name,
                resource_pattern_type=LITERAL,
                principal="User:bob",
                host="*",
                operation=READ,
                permission_type=ALLOW,
            )
            for name in names
        )
    )


def _limiting(value: int) -> AlterClientQuotasRequest:
    entity = EntityData(entity_type="user", entity_name=COUNTED)
    limit = OpData(key="producer_byte_rate", value=f64(float(value)), remove=False)
    return AlterClientQuotasRequest(entries=(EntryData(entity=(entity,), ops=(limit,)),), validate_only=False)


def _wait_for(outcome: Callable[[], Any], otherwise: str) -> Any:
    deadline = time.monotonic() + SECONDS_TO_AGREE
    while (found := outcome()) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(0.1)
    return found
