"""Finds and ends hanging transactions on a running cluster: the thin shell around `search` and `ending`."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from logstore.clock import now_ms
from replication.base.errors import ReplicationError
from replication.cluster.transactions.ending import Ended, abort
from replication.cluster.transactions.judged_transaction import JudgedTransaction, Verdict
from replication.cluster.transactions.search import Found, Questions, search
from replication.wire.client.cluster_client import ClusterClient

T = TypeVar("T")


def find_hanging(
    client: ClusterClient,
    *,
    topics: Callable[[str], bool] = lambda _: True,
    max_transaction_timeout_ms: int | None = None,
) -> Found:
    """Find the open transactions of the topics, and judge whether their coordinators will end them.

    With `max_transaction_timeout_ms`, the brokers' transaction.max.timeout.ms, those of producers that no coordinator
    knows count as hanging if their records are older. For that the user must be allowed to describe all transactional
    ids, and the records' times must be those of sending. Kafka: `kafka-transactions find-hanging`.

    Raises NoBrokerError and other errors of connections where no broker lists the topics. All else that fails is in
    `gaps`, and what is not known for that counts as unproven.
    """
    older_than = None if max_transaction_timeout_ms is None else now_ms() - max_transaction_timeout_ms
    return answered(search(topics, older_than), client)


def abort_hanging(client: ClusterClient, found: Iterable[JudgedTransaction]) -> tuple[Ended, ...]:
    """End those transactions that hang by abort markers; all others are left alone. Needs Alter on the cluster.

    Kafka: `kafka-transactions abort`. Raises nothing: the result has what failed of each.
    """
    return answered(abort(each.transaction for each in found if each.verdict is Verdict.HANGING), client)


def answered(questions: Questions[T], client: ClusterClient) -> T:
    """Ask one question after the other; throw into `questions` what keeps one from being answered."""
    try:
        broker, request = next(questions)
        while True:
            try:
                answer = (client if broker is None else client.connection_to(broker)).ask(request)
            except ReplicationError as error:
                broker, request = questions.throw(error)
            else:
                broker, request = questions.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result
