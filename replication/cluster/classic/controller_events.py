"""What happens to a controller of the ZooKeeper era, as lines of the log."""

import logging
from typing import Final

from replication.cluster.broker.events.event_log import FIELDS, LOGGER_NAME, line_of
from replication.cluster.broker.events.partition_events import Value
from replication.cluster.controller.classic.context import StateChange
from replication.cluster.controller.classic.controller import RunState

_LOGGER: Final = logging.getLogger(LOGGER_NAME)


def log_role(state: RunState, epoch: int) -> None:
    """Log that this process was elected, or has resigned."""
    _log(logging.INFO, {"event": "controller", "state": state.value, "controller_epoch": epoch})


def log_failed_change(change: StateChange) -> None:
    """Log why a partition or a replica is not in the state that it should be in, such as one without a leader."""
    if change.error is not None:
        _log(logging.WARNING, {"event": "state-change-failed", "of": str(change.subject), "why": change.error})


def log_channel(broker_id: int, error: Exception | None) -> None:
    """Log that a broker cannot be reached, or (None) that it can be again."""
    fields: dict[str, Value] = {"event": "channel", "broker": broker_id}
    if error is None:
        _log(logging.INFO, {**fields, "state": "reached"})
    else:
        _log(logging.WARNING, {**fields, "state": "unreachable", "why": str(error)})


def log_refused(broker_id: int, name: str, why: str) -> None:
    """Log that a broker does not obey a command."""
    _log(logging.WARNING, {"event": "command-refused", "broker": broker_id, "command": name, "why": why})


def log_trouble(error: Exception) -> None:
    """Log what was left undone until it is tried again."""
    _log(logging.WARNING, {"event": "trouble", "why": str(error)})


def _log(level: int, fields: dict[str, Value]) -> None:
    if _LOGGER.isEnabledFor(level):
        _LOGGER.log(level, "%s", line_of(fields), extra={FIELDS: fields})
