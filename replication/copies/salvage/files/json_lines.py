"""Salvaged records as JSON lines, with the names that kcat gives a record's parts."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from logstore.batch.batch_attributes import TimestampType
from logstore.shown_text import shown
from replication.copies.salvage.salvaged_record import SalvagedRecord, in_base64

_TIMESTAMP_TYPES = {
    TimestampType.CREATE_TIME: "create",
    TimestampType.LOG_APPEND_TIME: "logappend",
    TimestampType.NONE: "unknown",
}


@contextmanager
def json_lines(path: Path) -> Iterator[Callable[[SalvagedRecord], object]]:
    """Write one object a line to a new file. Raises OSError."""
    with open(path, "x", encoding="utf-8") as file:
        yield lambda record: file.write(f"{json.dumps(as_json(record), ensure_ascii=False)}\n")
        file.flush()
        os.fsync(file.fileno())


def as_json(record: SalvagedRecord) -> dict[str, Any]:
    """Return a record as `kcat -C -J` would print it, with what it does not know.

    A key, payload or header value that is no UTF-8 is in base64, under its name with `_base64` behind it, and null
    under its own.
    """
    headers = [part for key, value in record.headers for part in (key, _text(value))]
    document = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tstype": _TIMESTAMP_TYPES[record.timestamp_type],
        "ts": record.timestamp,
        "headers": headers,
        "key": _text(record.key),
        "payload": _text(record.value),
        "leader_epoch": record.leader_epoch,
        "producer_id": record.producer_id,
        "producer_epoch": record.producer_epoch,
        "sequence": record.sequence,
        "source": shown(record.source),
        "transaction": record.transaction,
    }
    for name, content in (("key", record.key), ("payload", record.value)):
        if content is not None and document[name] is None:
            document[f"{name}_base64"] = in_base64(content)
    if any(value is not None and _text(value) is None for _, value in record.headers):
        document["headers_base64"] = [part for key, value in record.headers for part in (key, in_base64(value))]
    return document


def _text(content: bytes | None) -> str | None:
    """Return bytes as text; None where they are none or no UTF-8."""
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None
