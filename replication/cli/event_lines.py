"""What a broker's log says of its partitions, on standard error."""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from replication.broker.events.event_log import FIELDS, LOGGER_NAME
from replication.cli.log_time import log_time
from replication.cli.output import shown

_MS: Final = 1_000


class EventLines(logging.Handler):
    """One line for each event: its time and key=value, or an object of JSON."""

    def __init__(self, *, json: bool) -> None:
        """Write to standard error, as it is when something happens."""
        super().__init__()
        self._is_json: Final = json

    def emit(self, record: logging.LogRecord) -> None:
        """Write it; a reader that has gone is no matter of the broker's."""
        time_ms = int(record.created * _MS)
        line = f"{log_time(time_ms)} {record.getMessage()}"
        if self._is_json:
            line = json.dumps({"time": time_ms, **getattr(record, FIELDS)})
        with suppress(OSError, ValueError):
            print(shown(line), file=sys.stderr, flush=True)


@contextmanager
def events_printed(*, json: bool) -> Iterator[None]:
    """Print what happens to partitions meanwhile."""
    logger, handler = logging.getLogger(LOGGER_NAME), EventLines(json=json)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before
