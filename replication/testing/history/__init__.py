"""Histories of clients, and what is wrong with them: whatever wrote to and read from a Kafka-compatible cluster.

Each value goes to a partition once, so that a read says which record it saw. The anomalies have the names that the
field uses (Adya's G0 to G1c, and those of Jepsen's tests of logs).

>>> history = History.of([
...     Operation("producer", sent=[Sent("orders-0", 0, "a")]),
...     Operation("producer", sent=[Sent("orders-0", 1, "b")]),
...     Operation("consumer", polled=[Polled("orders-0", 1, "b")]),
... ])
>>> check(history).counts
{<AnomalyKind.LOST_WRITE: 'lost-write'>: 1}
"""

from replication.testing.errors import HistoryError
from replication.testing.history.anomaly import NOT_PROMISED, Anomaly, AnomalyKind
from replication.testing.history.history import History
from replication.testing.history.operation import Operation, Outcome, Polled, Sent
from replication.testing.history.report import Report, check

__all__ = [
    "NOT_PROMISED",
    "Anomaly",
    "AnomalyKind",
    "History",
    "HistoryError",
    "Operation",
    "Outcome",
    "Polled",
    "Report",
    "Sent",
    "check",
]
