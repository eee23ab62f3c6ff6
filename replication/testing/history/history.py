"""What many clients did to the same partitions, as columns."""

import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Self, get_args

import numpy as np
from numpy.typing import NDArray

from replication.testing.errors import HistoryError
from replication.testing.history.operation import Operation, Outcome, Polled, Sent, Value

Column = NDArray[np.int64]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
OK: Final = OUTCOMES.index("ok")
FAILED: Final = OUTCOMES.index("failed")
NONE: Final = -1
"""No row, no operation, or an offset that no answer said."""


class Records:
    """Records that operations sent, or were given: a row each, in runs of one operation and partition."""

    def __init__(self, runs: "_Runs") -> None:
        table = _numbers(runs.runs).reshape(-1, 3)
        self.run_operation: Final[Column] = np.ascontiguousarray(table[:, 0])
        self.run_partition: Final[Column] = np.ascontiguousarray(table[:, 1])
        self.run_end: Final[Column] = np.cumsum(table[:, 2])
        self.run_start: Final[Column] = self.run_end - table[:, 2]
        self.offset: Final[Column] = _numbers(runs.offsets)
        self.value: Final[Column] = _numbers(runs.values)

    def __len__(self) -> int:
        return len(self.offset)

    @cached_property
    def operation(self) -> Column:
        """By record: the number of its operation."""
        return np.repeat(self.run_operation, self.run_end - self.run_start)

    @cached_property
    def partition(self) -> Column:
        """By record: the number of its partition."""
        return np.repeat(self.run_partition, self.run_end - self.run_start)

    def rows_of(self, operation: int) -> range:
        """Return the rows of an operation's records."""
        first, last = np.searchsorted(self.run_operation, [operation, operation + 1])
        return range(self.run_start[first], self.run_end[last - 1]) if first < last else range(0)


class History:
    """The operations of some clients, in the order in which they ended.

    >>> history = History.of([Operation("a", sent=[Sent("orders-0", 0, "x")])])
    >>> len(history)
    1
    """

    def __init__(self, documents: Iterable[Mapping[str, object]]) -> None:
        """Create a history of operations as `Operation.to_json` gives them. Raises HistoryError, with their number."""
        names = _Names()
        sent, polled, steps = _Runs(names), _Runs(names), array("q")
        number = 0
        try:
            for document in documents:
                get: Callable[..., Any] = document.get
                process, outcome = names.processes[get("process", 0)], OUTCOMES.index(get("outcome", "ok"))
                steps.extend((process, outcome, bool(get("assigned"))))
                sent.add(number, get("sent", {}))
                polled.add(number, get("polled", {}))
                number += 1
        except (AttributeError, OverflowError, RecursionError, TypeError, ValueError) as error:
            raise HistoryError(f"operation {number + 1:,} is not understood: {error}") from error
        names.ensure_known()
        self.sent: Final = Records(sent)
        self.polled: Final = Records(polled)
        _ensure_placed(self.polled)
        table = _numbers(steps).reshape(-1, 3)
        self.process: Final[Column] = np.ascontiguousarray(table[:, 0])
        self.outcome: Final[Column] = np.ascontiguousarray(table[:, 1])
        self.assigned: Final[Column] = np.ascontiguousarray(table[:, 2])
        self.partitions: Final[list[str]] = list(names.partitions)
        self.values: Final[list[Value]] = names.values
        """Numbered by partition: a value that two partitions have has two numbers."""
        self._processes: Final[list[Value]] = list(names.processes)

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> Self:
        """Create a history of operations that are objects. Raises HistoryError."""
        return cls(each.to_json() for each in operations)

    @classmethod
    def read(cls, lines: Iterable[str | bytes]) -> Self:
        """Read operations as JSON, one on each line. Raises HistoryError, OSError."""
        return cls(map(json.loads, lines))

    def __len__(self) -> int:
        return len(self.process)

    def operation(self, number: int) -> Operation:
        """Return an operation by its number, from 0 on."""
        sent, polled = self.sent, self.polled
        return Operation(
            self._processes[self.process[number]],
            [
                Sent(self.partitions[sent.partition[row]], _known(sent.offset[row]), self.values[sent.value[row]])
                for row in sent.rows_of(number)
            ],
            [
                Polled(self.partitions[polled.partition[row]], int(polled.offset[row]), self.values[polled.value[row]])
                for row in polled.rows_of(number)
            ],
            OUTCOMES[self.outcome[number]],
            bool(self.assigned[number]),
        )


class _Numbers(dict[Any, int]):
    """Names, numbered as they come."""

    def __init__(self, next_number: Callable[[Any], int] | None = None) -> None:
        self._next = next_number or (lambda _: len(self))

    def __missing__(self, name: Any) -> int:
        self[name] = number = self._next(name)
        return number


class _Names:
    """The names of processes and partitions, and the values of each partition."""

    def __init__(self) -> None:
        self.processes = _Numbers()
        self.partitions = _Numbers()
        self.values: list[Any] = []
        self.numbers: dict[str, _Numbers] = defaultdict(lambda: _Numbers(self._next_value))

    def _next_value(self, value: Any) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def ensure_known(self) -> None:
        for name in (*self.partitions, *self.processes, *self.values):
            if type(name) is not str and (type(name) is not int or name in self.partitions):
                raise HistoryError(f"{name!r} cannot name a process, partition or value: use text, or whole numbers")


class _Runs:
    """Columns of records that grow."""

    def __init__(self, names: _Names) -> None:
        self._names = names
        self.runs, self.offsets, self.values = array("q"), array("q"), array("q")

    def add(self, operation: int, records: Mapping[str, Sequence[tuple[int | None, Value]]]) -> None:
        for partition, given in records.items():
            if not given:
                continue
            self.runs.extend((operation, self._names.partitions[partition], len(given)))
            offsets, values = zip(*given, strict=True)
            if None in offsets:
                offsets = tuple(NONE if offset is None else offset for offset in offsets)
            self.offsets.extend(offsets)
            self.values.extend(map(self._names.numbers[partition].__getitem__, values))


def _ensure_placed(polled: Records) -> None:
    if len(rows := np.flatnonzero(polled.offset < 0)):
        number = int(polled.operation[rows[0]]) + 1
        raise HistoryError(f"operation {number:,} is not understood: what is polled has an offset, from 0 on")


def _numbers(column: "array[int]") -> Column:
    return np.frombuffer(column, dtype=np.int64) if column else np.empty(0, dtype=np.int64)


def _known(offset: int) -> int | None:
    return None if offset < 0 else int(offset)
