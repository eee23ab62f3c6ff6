"""What a history is judged to be: `check`, and a smallest history that shows an anomaly."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from replication.testing.history.anomaly import NOT_PROMISED, Anomaly, AnomalyKind, Found
from replication.testing.history.cycle_checks import cycle_anomalies
from replication.testing.history.history import History
from replication.testing.history.operation import Operation
from replication.testing.history.order_checks import order_anomalies
from replication.testing.history.record_checks import record_anomalies
from replication.testing.history.shrinking import smallest
from replication.testing.history.versions import Versions


class Report:
    """The anomalies of a history."""

    def __init__(self, history: History, found: Mapping[AnomalyKind, Found]) -> None:
        self._history: Final = history
        self._found: Final = found

    @property
    def counts(self) -> dict[AnomalyKind, int]:
        """How many anomalies there are of each kind that there is."""
        return {kind: len(found) for kind, found in self._found.items() if len(found)}

    @property
    def broken(self) -> list[AnomalyKind]:
        """The kinds that a sound Kafka has none of, and this history has."""
        return [kind for kind in self.counts if kind not in NOT_PROMISED]

    def anomalies(self, kind: AnomalyKind) -> Iterator[Anomaly]:
        """Yield all anomalies of a kind."""
        found = self._found[kind]
        return (found.anomaly(row, self._history) for row in range(len(found)))

    def counterexample(self, anomaly: Anomaly) -> list[Operation]:
        """Return operations that show an anomaly of that kind, of which nothing can be left out."""
        shown = [self._history.operation(number) for number in anomaly.operations]
        return smallest(shown, lambda operations: anomaly.kind in check(History.of(operations)).counts)


def check(history: History) -> Report:
    """Look for all anomalies of a history. Raises HistoryError where one value was sent twice to a partition.

    What consumers passed over counts where others read it. Whoever reads with `read_uncommitted` is given records of
    failed operations, too: G1a is no defect then.
    """
    versions = Versions(history)
    found = chain(record_anomalies(versions), order_anomalies(versions), cycle_anomalies(versions))
    return Report(history, {each.kind: each for each in found})
