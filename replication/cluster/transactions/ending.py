"""The requests that end transactions with an abort marker, as a coordinator would (Kafka: WriteTxnMarkers)."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from replication.base.errors import ReplicationError
from replication.cluster.transactions.open_transaction import OpenTransaction
from replication.cluster.transactions.search import Gap, Question, Questions, open_transactions
from replication.wire.error_code import ErrorCode
from replication.wire.errors import error_for
from replication.wire.messages.write_txn_markers import (
    TransactionMarker,
    WriteTxnMarkersRequest,
    WrittenTxnMarkers,
)


class Ended(NamedTuple):
    """What became of a transaction that was to be aborted."""

    transaction: OpenTransaction
    error: str | None = None
    """Why it is still open; None where it is not."""

    def as_json(self) -> Mapping[str, object]:
        """Return it as `--json` prints it."""
        return {**self.transaction.as_json(), "error": self.error}


def abort(transactions: Iterable[OpenTransaction]) -> Questions[tuple[Ended, ...]]:
    """Ask the leaders to write abort markers, one transaction after the other, and whether these did it."""
    ended: list[Ended] = []
    for each in transactions:
        try:
            error = yield from _abort(each)
        except ReplicationError as failure:
            error = str(failure)
        ended.append(Ended(each, error))
    return tuple(ended)


def _abort(transaction: OpenTransaction) -> Questions[str | None]:
    """Return why a transaction is still open. Raises ReplicationError where the leader does not answer."""
    marker = TransactionMarker(
        transaction.producer_id,
        transaction.producer_epoch,
        is_commit=False,
        partitions=(transaction.partition,),
        coordinator_epoch=max(transaction.coordinator_epoch, 0),
    )
    written: WrittenTxnMarkers = yield Question(transaction.leader, WriteTxnMarkersRequest(markers=(marker,)))
    told = written.results.get(transaction.producer_id, {})
    code = told.get(transaction.partition, ErrorCode.UNKNOWN_SERVER_ERROR)
    if code is not ErrorCode.NONE:
        return str(error_for(code, "WriteTxnMarkers"))
    gaps: list[Gap] = []
    still_open = yield from open_transactions({transaction.partition: transaction.leader}, gaps)
    if gaps:
        return f"its marker was written, but it is not known whether that ended it: {gaps[0].why}"
    is_open = any(each.identity == transaction.identity for each in still_open)
    return "its leader has written a marker, and still has it open" if is_open else None
