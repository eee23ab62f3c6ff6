"""Asks a cluster how it stands: the thin shell around `ask_for_view`."""

from collections.abc import Callable
from typing import Any

from replication.operations.cluster_questions import Questions, ask_for_view
from replication.operations.cluster_view import ClusterView
from replication.operations.partition_filter import PartitionFilter
from replication.protocol.client.cluster_client import ClusterClient
from replication.protocol.errors import RequestTimedOutError, UnsupportedVersionError

_EVERYTHING = PartitionFilter()


def read_cluster(client: ClusterClient, chosen: PartitionFilter = _EVERYTHING) -> ClusterView:
    """Ask any broker for a view of the cluster, with the partitions that are chosen.

    Raises NoBrokerError and what else connections raise, and KafkaError where a broker does not tell of brokers or
    topics. What else is not told, `gaps` says.
    """
    return answered(ask_for_view(chosen), client.ask).showing(chosen)


def answered(questions: Questions[ClusterView], ask: Callable[[Any], Any]) -> ClusterView:
    """Ask one question after the other; which are not understood, or not answered in time, the questions are told."""
    try:
        request = next(questions)
        while True:
            try:
                answer = ask(request)
            except (UnsupportedVersionError, RequestTimedOutError) as error:
                request = questions.throw(error)
            else:
                request = questions.send(answer)
    except StopIteration as end:
        view: ClusterView = end.value
        return view
