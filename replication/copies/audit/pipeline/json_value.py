"""Values of the audit's tables in JSON, as Spark writes them."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa

from replication.copies.audit.tables import TIMESTAMP

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def json_value(value: Any, kind: pa.DataType) -> Any:
    """Give a column's value: bytes in base64, times as text; a time beyond what a date can be as its number.

    Times are microseconds since 1970 UTC, or what Arrow makes of them.
    """
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if kind != TIMESTAMP or value is None:
        return value
    try:
        at = value if isinstance(value, datetime) else _EPOCH + timedelta(microseconds=value)
    except OverflowError:
        return value
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
