"""What a broker's log says, on standard error."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from replication.cli.serving.log_time import log_time
from replication.cli.serving.printing_thread import PrintingThread
from replication.cluster.broker.events.event_log import FIELDS, LOGGER_NAME, line_of
from replication.cluster.broker.events.partition_events import Value

_MS: Final = 1_000
_OTHERS: Final = ("epochlog", "replication")
"""Who warns of what is no event."""


class EventLines(logging.Handler):
    """One line for each event: its time and key=value, or an object of JSON."""

    def __init__(self, lines: PrintingThread, *, json: bool) -> None:
        """Create a handler that prints with `lines`, as JSON or not."""
        super().__init__()
        self._lines: Final = lines
        self._is_json: Final = json

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line for printing: the caller holds what others wait for, and must not wait for a reader."""
        fields: Mapping[str, Value] | None = getattr(record, FIELDS, None)
        if fields is None:
            if record.levelno < logging.WARNING:
                return
            fields = {"event": "log", "level": record.levelname.lower(), "why": self.format(record)}
        time_ms = int(record.created * _MS)
        if self._is_json:
            self._lines.put(json.dumps({"time": time_ms, **fields}))
        else:
            self._lines.put(f"{log_time(time_ms)} {line_of(fields)}")


@contextmanager
def events_printed(*, json: bool) -> Iterator[None]:
    """Print what happens to partitions meanwhile, and what else is warned of, which Python would print as it is."""
    lines = PrintingThread()
    logger, handler = logging.getLogger(LOGGER_NAME), EventLines(lines, json=json)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    others = [logging.getLogger(name) for name in _OTHERS]
    for each in others:
        each.addHandler(handler)
    try:
        yield
    finally:
        for each in (logger, *others):
            each.removeHandler(handler)
        logger.level, logger.propagate = before
        lines.close()
