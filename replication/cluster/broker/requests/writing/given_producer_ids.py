"""Answers InitProducerId (KIP-98, KIP-360)."""

from collections.abc import Iterator
from typing import Any, Final, Protocol

from replication.base.errors import ReplicationError
from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import Permissions, PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.trouble import TellTrouble, Trouble
from replication.cluster.broker.events.trouble_events import TroubleKind
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.turns import Turns
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call

API_KEY: Final = 22
VERSIONS: Final = range(6)
"""Kafka 4.3 holds back the last one, of transactions that are prepared (KIP-939)."""
_NONE: Final = -1


class ProducerIdBlocks(Protocol):
    """Gives out ids that nobody has had, also before a restart (Kafka: AllocateProducerIds; blocks of 1,000)."""

    def next_block(self) -> range:
        """Return the next ones, which are remembered as given out before this returns.

        Raises OSError or a ReplicationError where there are none now.
        """


class GivenProducerIds:
    """Gives idempotent producers their ids (Kafka: ProducerIdManager)."""

    def __init__(
        self,
        blocks: ProducerIdBlocks,
        permissions: PermissionsOf = unlimited,
        *,
        has_coordinators: bool = False,
        tell: TellTrouble = log_event,
    ) -> None:
        """Create it with these blocks, the first one requested when needed; ids are for callers who may write.

        `has_coordinators` says that the cluster has coordinators of transactions, whom transactional producers ask.
        """
        self._blocks = blocks
        self._permissions = permissions
        self._has_coordinators = has_coordinators
        self._trouble: Final = Trouble(TroubleKind.PRODUCER_IDS, tell=tell)
        self._turns = Turns()
        self._left: Iterator[int] = iter(())

    def answer(self, request: Any, call: Call) -> Any:
        """Answer in kio's terms; transactional producers find no coordinator here."""
        denial = _denial(self._permissions(call.caller), request.transactional_id)
        error, producer_id = (denial, _NONE) if denial else self._give(request)
        is_given = error is ErrorCode.NONE
        content = {"error_code": error, "producer_id": producer_id, "producer_epoch": 0 if is_given else _NONE}
        return kio_answer(API_KEY, call.version, content)

    def _give(self, request: Any) -> tuple[ErrorCode, int]:
        had = getattr(request, "producer_id", _NONE), getattr(request, "producer_epoch", _NONE)
        if (had[0] == _NONE) != (had[1] == _NONE) or request.transactional_id == "":
            return ErrorCode.INVALID_REQUEST, _NONE
        if request.transactional_id is not None:
            # Where there is no coordinator it would ask for it for ever.
            is_elsewhere = self._has_coordinators
            return ErrorCode.NOT_COORDINATOR if is_elsewhere else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, _NONE
        try:
            producer_id = self._next()
        except (OSError, ReplicationError):  # told by whose turn it was
            producer_id = None
        return (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, _NONE) if producer_id is None else (ErrorCode.NONE, producer_id)

    def _next(self) -> int | None:
        """Return an id; None where even a new block has none.

        Raises what `ProducerIdBlocks.next_block` raises, and TurnMissedError where another waited for that in vain.
        """
        with self._turns.turn():
            producer_id = next(self._left, None)
            if producer_id is None:
                self._left = iter(self._next_block())
                producer_id = next(self._left, None)
            return producer_id

    def _next_block(self) -> range:
        try:
            block = self._blocks.next_block()
        except (OSError, ReplicationError) as error:
            self._trouble.begin(f"this broker is given no ids for producers: {error}")
            self._turns.failed(str(error))
            raise
        self._trouble.end()
        return block


def _denial(permissions: Permissions, transactional_id: str | None) -> ErrorCode:
    """Return why a producer may not have an id, if he may not: for idempotence he has to be able to write (KIP-679)."""
    if transactional_id is not None:
        may_write = permissions.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)
        return ErrorCode.NONE if may_write else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    may_write = permissions.may(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER) or permissions.may_somewhere(
        Operation.WRITE, ResourceType.TOPIC
    )
    return ErrorCode.NONE if may_write else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
