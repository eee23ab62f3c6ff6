"""Three replicas, the controller's leader epoch, what was acknowledged, and how much more may happen."""

from typing import NamedTuple

from tests.replication.cluster.fetcher.model.replica import Log, Replica, replica_number

NAMES = "ABC"
_BITS = 24
_MASK = (1 << _BITS) - 1
_logs: list[Log] = []
_log_numbers: dict[Log, int] = {}


class Cluster(NamedTuple):
    """A state of the model."""

    replicas: tuple[Replica, Replica, Replica]
    epoch: int
    """The latest leader epoch."""
    acked: Log
    """The records below the high watermark of some leader, once."""
    records_left: int
    restarts_left: int

    @property
    def elected(self) -> int | None:
        """Who is leader by the controller's word; None where that replica lost its leadership by a crash."""
        for number, replica in enumerate(self.replicas):
            if self.epoch in replica.terms:
                return number
        return None

    def with_replicas(self, *changed: tuple[int, Replica]) -> "Cluster":
        """Return the cluster with some replicas changed."""
        first, second, third = self.replicas
        for number, replica in changed:
            if number == 0:
                first = replica
            elif number == 1:
                second = replica
            else:
                third = replica
        return Cluster((first, second, third), *self[1:])

    def packed(self) -> int:
        """Return the state as a number."""
        return self._number([replica.serial for replica in self.replicas])

    def key(self) -> int:
        """Return the number that all states share which differ only in the replicas' names."""
        return self._number(sorted([replica.serial for replica in self.replicas]))

    def _number(self, serials: list[int]) -> int:
        first, second, third = serials
        rest = _log_number(self.acked) << 12 | self.epoch << 8 | self.records_left << 4 | self.restarts_left
        return ((rest << _BITS | first) << _BITS | second) << _BITS | third


def unpacked(number: int) -> Cluster:
    """Return the state that a number stands for."""
    third, second, first = (replica_number(number >> shift & _MASK) for shift in (0, _BITS, 2 * _BITS))
    rest = number >> 3 * _BITS
    return Cluster((first, second, third), rest >> 8 & 15, _logs[rest >> 12], rest >> 4 & 15, rest & 15)


def _log_number(log: Log) -> int:
    number = _log_numbers.get(log)
    if number is None:
        number = _log_numbers[log] = len(_logs)
        _logs.append(log)
    return number
