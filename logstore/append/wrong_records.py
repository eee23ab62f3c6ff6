"""What an append takes for records, and why others could not be encoded."""

from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.batch.buffer import BUFFERS
from logstore.batch.record import Record

_RECORDS = (
    "pass a list or tuple of values in bytes or of Record, such as [Record.of(b'value')], or the bytes of one batch"
)


def with_records_of_values(given: object) -> list[Record] | None:
    """Make records of the values among what was given to append; None where there are none.

    What is wrong besides stays as it is, for `wrong_records` to report.
    """
    if (
        isinstance(given, Record)
        or not isinstance(given, (list, tuple))
        or not any(isinstance(each, BUFFERS) for each in given)
    ):
        return None
    return [Record.of(bytes(each)) if isinstance(each, BUFFERS) else each for each in given]


def wrong_records(records: object) -> TypeError | ValueError | None:
    """Return an error that says what to pass instead; None where types and timestamps are right."""
    if isinstance(records, Record):
        return TypeError(f"a single Record is no batch: {_RECORDS}")
    if not isinstance(records, (list, tuple)):
        return TypeError(f"the records are {_kind(records)}: {_RECORDS}")
    for number, record in enumerate(records):
        if not isinstance(record, Record):
            return TypeError(f"number {number} is {_kind(record)}, neither bytes nor a Record: {_RECORDS}")
        problem = _wrong_field(record)
        if problem:
            return TypeError(f"record {number}: {problem}")
        if not NO_TIMESTAMP <= record.timestamp < 2**63:
            what = f"record {number}: its timestamp is {record.timestamp:,}"
            return ValueError(f"{what}: pass milliseconds since 1970 UTC, 0 to 2**63 - 1, or -1 for none")
    return None


def _wrong_field(record: Record) -> str:
    contents: tuple[tuple[str, object], ...] = (("value", record.value), ("key", record.key))
    timestamp: object = record.timestamp
    for name, content in contents:
        if content is not None and not isinstance(content, BUFFERS):
            return f"its {name} is {_kind(content)}: pass bytes or None; encode text, by 'text'.encode()"
    if not isinstance(timestamp, int):
        return f"its timestamp is {_kind(timestamp)}: pass milliseconds since 1970 UTC, an int"
    for header in record.headers:
        key: object = header.key
        content = header.value
        if not isinstance(key, str) or not (content is None or isinstance(content, BUFFERS)):
            return f"its header {header!r} is not a str and bytes or None"
    return ""


def _kind(thing: object) -> str:
    return f"of type {type(thing).__name__}"
