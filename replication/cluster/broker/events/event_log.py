"""One line in the log for each event: fields as key=value, and the same as `partition_event` of the record."""

import json
import logging
import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from replication.cluster.broker.events.coordinator_replicas import CoordinatorReplicas
from replication.cluster.broker.events.departure_events import DepartureEvent, Left
from replication.cluster.broker.events.partition_events import (
    DamageRead,
    PartitionEvent,
    ReplicaLost,
    ReplicaShort,
    Role,
    RoleChanged,
    Standing,
    Truncated,
    Value,
)
from replication.cluster.broker.events.recovery_events import RecoveryEvent, RecoveryTruncated
from replication.cluster.broker.events.trouble_events import TroubleBegan, TroubleEvent

LOGGER_NAME: Final = "epochlog.events"
FIELDS: Final = "partition_event"
"""The attribute of a record of logging that has the fields, for who writes them otherwise."""
_LOGGER: Final = logging.getLogger(LOGGER_NAME)
_PLAIN: Final = re.compile(r"[\w.,:/+-]+", re.ASCII)
"""A value that needs no quotes to be separate from the next field."""
_JSON: Final = re.compile(r"\{\S+\}")
"""One that is JSON by itself, to be copied as it stands."""

BrokerEvent: TypeAlias = PartitionEvent | RecoveryEvent | TroubleEvent | DepartureEvent | CoordinatorReplicas


def log_event(event: BrokerEvent) -> None:
    """Log an event: problems and possible losses as warnings, an offline or lost only replica as an error."""
    level = _level(event)
    if _LOGGER.isEnabledFor(level):
        fields = event.fields()
        _LOGGER.log(level, "%s", line_of(fields), extra={FIELDS: fields})


def line_of(fields: Mapping[str, Value]) -> str:
    """Return fields as one line; what is not known is left out."""
    return " ".join(f"{name}={_shown(value)}" for name, value in fields.items() if value is not None)


def _level(event: BrokerEvent) -> int:
    if isinstance(event, TroubleBegan | RecoveryTruncated | CoordinatorReplicas):
        return logging.WARNING
    if isinstance(event, Truncated) and event.is_below_high_watermark:
        return logging.WARNING
    if isinstance(event, Left) and event.reason is not None:
        return logging.WARNING
    if isinstance(event, ReplicaShort):
        return logging.ERROR if event.standing is Standing.WITHHELD or event.is_only else logging.WARNING
    if isinstance(event, DamageRead):
        return logging.ERROR
    if isinstance(event, ReplicaLost):
        return logging.ERROR if event.is_only else logging.WARNING
    return logging.ERROR if isinstance(event, RoleChanged) and event.after is Role.OFFLINE else logging.INFO


def _shown(value: Value) -> str:
    """Return a value as it stands in a line: as JSON has it where it has blanks, or anything else that is not plain."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if _PLAIN.fullmatch(text) or _JSON.fullmatch(text) else json.dumps(text)
