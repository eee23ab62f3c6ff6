"""What a broker's log says of its partitions, on standard error."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from replication.broker.events.event_log import FIELDS, LOGGER_NAME
from replication.cli.log_time import log_time
from replication.cli.printing_thread import PrintingThread

_MS: Final = 1_000


class EventLines(logging.Handler):
    """One line for each event: its time and key=value, or an object of JSON."""

    def __init__(self, lines: PrintingThread, *, json: bool) -> None:
        """Have them printed."""
        super().__init__()
        self._lines: Final = lines
        self._is_json: Final = json

    def emit(self, record: logging.LogRecord) -> None:
        """Have it printed; who tells holds what others wait for, and must not wait for a reader."""
        time_ms = int(record.created * _MS)
        line = f"{log_time(time_ms)} {record.getMessage()}"
        if self._is_json:
            line = json.dumps({"time": time_ms, **getattr(record, FIELDS)})
        self._lines.put(line)


@contextmanager
def events_printed(*, json: bool) -> Iterator[None]:
    """Print what happens to partitions meanwhile."""
    lines = PrintingThread()
    logger, handler = logging.getLogger(LOGGER_NAME), EventLines(lines, json=json)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before
        lines.close()
