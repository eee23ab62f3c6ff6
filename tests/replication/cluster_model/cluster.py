"""A state of the model: the brokers, what the controller has decided, what is committed, and what more may happen."""

from enum import StrEnum
from typing import NamedTuple

from tests.replication.cluster.fetcher.model.replica import Log
from tests.replication.cluster_model.metadata import Metadata
from tests.replication.cluster_model.node import Node
from tests.replication.cluster_model.violations import Violation


class What(StrEnum):
    """What may happen to a broker."""

    WRITES = "appends a producer's record"
    FETCHES = "fetches, and takes the answer"
    FETCHES_IN_VAIN = "fetches, and the answer is lost"
    LATE_FETCH = "is heard of by a late fetch"
    LAG = "looks who has fallen behind"
    CHANGE = "is answered about the ISR by the controller"
    CHANGE_AND_AGAIN = "is answered about the ISR by the controller, and its request comes once more"
    ANSWER = "hears that answer"
    ANSWER_AND_AGAIN = "hears that answer, and not for the last time"
    ANSWER_LOST = "hears no answer, and asks again"
    HEARS = "hears of the newest metadata"
    FENCED = "is fenced"
    UNFENCED = "is unfenced"
    SHUTS_DOWN = "wants to stop"
    STOPS = "stops in order"
    CRASHES = "crashes"
    STARTS = "starts and registers"
    BALANCED = "is preferred by the controller"


class Event(NamedTuple):
    """What happens, and to whom; `detail` is how many records are lost, or which change of the ISR it is about."""

    what: What
    node: int
    detail: int = 0


class Cluster(NamedTuple):
    """Between two events."""

    nodes: tuple[Node, ...]
    metadata: Metadata
    committed: Log
    """The records below the high watermark of some leader, once."""
    records_left: int
    failures_left: int

    def with_node(self, number: int, node: Node) -> "Cluster":
        """Return the cluster with another state of a broker."""
        nodes = (*self.nodes[:number], node, *self.nodes[number + 1 :])
        return self._replace(nodes=nodes)

    @property
    def failed_once_more(self) -> "Cluster":
        """The cluster with one failure less to come."""
        return self._replace(failures_left=self.failures_left - 1)


class Successor(NamedTuple):
    """What an event led to, and what is wrong with it."""

    event: Event
    cluster: Cluster
    violation: Violation | None = None
    is_unclean: bool = False
    """A leader was elected that may lack what was committed: nothing is promised any more."""
