"""Reads the state of a cluster: the thin shell around `ask_for_view`."""

from collections.abc import Callable
from typing import Any

from replication.cluster.operations.cluster_questions import Questions, ask_for_view
from replication.cluster.operations.cluster_view import ClusterView
from replication.cluster.operations.partition_filter import PartitionFilter
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.errors import RequestTimedOutError, UnsupportedVersionError

_EVERYTHING = PartitionFilter()


def read_cluster(client: ClusterClient, chosen: PartitionFilter = _EVERYTHING) -> ClusterView:
    """Ask any broker for a view of the cluster, with the selected partitions.

    Raises NoBrokerError and other errors of connections, and KafkaError if a broker does not list brokers or
    topics. Whatever else is missing is named in `gaps`.
    """
    return answered(ask_for_view(chosen), client.ask).showing(chosen)


def answered(questions: Questions[ClusterView], ask: Callable[[Any], Any]) -> ClusterView:
    """Send one request after the other; throw UnsupportedVersionError and RequestTimedOutError into `questions`."""
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
