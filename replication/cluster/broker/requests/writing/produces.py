"""Answers Produce (KIP-98, KIP-360, KIP-467, KIP-516, KIP-890, KIP-951)."""

from dataclasses import replace
from typing import Any

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.cluster.broker.requests.writing.pending_verification import PendingVerification
from replication.cluster.broker.requests.writing.produce_work import ProduceWork, RefusedRequestError, no_answer
from replication.cluster.broker.requests.writing.transaction_verification import TransactionVerification
from replication.wire.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse
from replication.wire.server.call import Call
from replication.wire.server.pending import NO_ANSWER, Pending


class Produces:
    """Appends to what is led here (Kafka: KafkaApis.handleProduceRequest)."""

    def __init__(
        self,
        lookup: PartitionLookup,
        verification: TransactionVerification,
        permissions: PermissionsOf = unlimited,
    ) -> None:
        """Look the partitions up here; `verification` reaches the coordinators of transactions.

        `permissions` say by whom a transactional id may be used.
        """
        self._lookup = lookup
        self._verification = verification
        self._permissions = permissions

    def answer(self, request: ProduceRequest, call: Call) -> ProduceResponse | Pending | None:
        """Answer, or return what waits for the answer; None where none is wanted. Raises HangUpError."""
        transactional_id = request.transactional_id
        if transactional_id is not None and not self._permissions(call.caller).may(
            Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
        ):
            request = replace(request, transactional_id=None)  # as if there were none
        try:
            work = ProduceWork(self._lookup, request, call)
            if not work.is_transactional:
                return work.append()
            pending = PendingVerification(work, self._verification, call.version)
        except RefusedRequestError as refused:
            return _refuse(request, refused.answer)
        answer: Any = pending.answer()
        return pending if answer is None else None if answer is NO_ANSWER else answer


def _refuse(request: ProduceRequest, answer: ProducedPartition) -> ProduceResponse:
    if request.acks == 0:
        raise no_answer({str(key): answer.error.name for key in request.partitions})
    refused = dict.fromkeys(request.partitions, answer)
    return ProduceResponse(partitions=refused, topic_ids=request.topic_ids)
