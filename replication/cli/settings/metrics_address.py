"""Where metrics are served: [HOST:]PORT, on this machine alone unless a host is named."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from replication.cluster.node.metrics.served_metrics import ServedMetrics

_FORM: Final = re.compile(r"(?:(?P<host>[^\s:]+|\[[^\s\]]+\]):)?(?P<port>\d{1,5})", re.ASCII)
_LAST_PORT: Final = 65_535
_LOCAL: Final = "127.0.0.1"


class MetricsAddress(NamedTuple):
    """Where metrics are served."""

    host: str
    port: int
    """0: any that is free."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read [HOST:]PORT. Raises ValueError."""
        match = _FORM.fullmatch(text)
        if match is None or int(match["port"]) > _LAST_PORT:
            raise ValueError(f"{text!r:.60} is not a [HOST:]PORT")
        return cls((match["host"] or _LOCAL).strip("[]"), int(match["port"]))


@contextmanager
def served_metrics(address: MetricsAddress | None) -> Iterator["ServedMetrics | None"]:
    """Serve a broker's metrics there, if anywhere. Raises OSError if the address cannot be used."""
    if address is None:
        yield None
        return
    from replication.cluster.node.metrics.served_metrics import ServedMetrics

    with ServedMetrics(*address) as metrics:
        yield metrics
