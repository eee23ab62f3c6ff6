"""Files of offsets that somebody has: Parquet, JSON lines, or numbers as text."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from logstore.topic_partition import TopicPartition
from replication.base.counted import counted
from replication.copies.explain.errors import OffsetsFileError

if TYPE_CHECKING:
    import pyarrow as pa

OFFSET: Final = "offset"
WHOSE: Final = ("topic", "partition")
_JSON: Final = frozenset({".jsonl", ".ndjson", ".json"})
_LARGEST: Final = {OFFSET: 2**63 - 1, "partition": 2**31 - 1}
_SHOWN: Final = 60
NAMED: Final = 10


def read_offsets(path: Path, partition: TopicPartition) -> NDArray[np.int64]:
    """Read the offsets of a partition, each once and by size.

    Parquet and JSON lines, which are known by their suffix, have a column `offset`; where they have `topic` and
    `partition` too, only the rows of this partition count. Any other file has numbers, with blanks or line ends between
    them. A row of which it is not clear what it has is refused, and so is a file whose rows are all of others.

    Raises OffsetsFileError, ModuleNotFoundError for Parquet without pyarrow, and OSError.
    """
    if path.suffix == ".parquet":
        offsets = _of_parquet(path, partition)
    elif path.suffix in _JSON:
        offsets = _of_json_lines(path, partition)
    else:
        offsets = _of_text(path)
    if len(offsets) and offsets.min() < 0:
        raise OffsetsFileError(path, f"{int(offsets.min())} is no offset: they begin at 0")
    return np.unique(offsets)


def _of_parquet(path: Path, partition: TopicPartition) -> NDArray[np.int64]:
    import pyarrow as pa  # noqa: PLC0415  only where it is needed
    import pyarrow.compute as pc  # noqa: PLC0415  as above
    import pyarrow.parquet as pq  # noqa: PLC0415  as above

    try:
        names = set(pq.read_schema(path).names)
        if OFFSET not in names:
            raise OffsetsFileError(path, f"it has no column `offset`, but {', '.join(sorted(names))}")
        table = pq.read_table(path, columns=[OFFSET, *(name for name in WHOSE if name in names)])
        columns = {name: _column(path, name, table[name]) for name in table.column_names}
        offsets = columns.pop(OFFSET)
        for name, whose in columns.items():
            offsets = pc.if_else(pc.equal(whose, getattr(partition, name)), offsets, None)
        column: NDArray[np.int64] = pc.drop_null(offsets).to_numpy()
        if columns and not len(column):
            refuse_others(path, partition, pa.table(columns).group_by(list(columns)).aggregate([]).to_pylist())
    except pa.ArrowException as error:
        raise OffsetsFileError(path, f"it is no Parquet file of offsets: {error}") from error
    return column


def _column(path: Path, name: str, column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Return a column as text or as int64. Raises OffsetsFileError where it is of another type or has nulls."""
    import pyarrow as pa  # noqa: PLC0415  only where it is needed
    import pyarrow.compute as pc  # noqa: PLC0415  as above

    given, has_text = column.type, name == "topic"
    kind = given.value_type if pa.types.is_dictionary(given) else given
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (is_text if has_text else pa.types.is_integer(kind)):
        raise OffsetsFileError(path, f"its column `{name}` is {given}: expected {'text' if has_text else 'integers'}")
    if column.null_count:
        raise OffsetsFileError(
            path, f"its column `{name}` has {counted(column.null_count, 'null')}: leave these rows out"
        )
    column = column.cast(pa.string() if has_text else pa.int64())
    least = None if has_text else pc.min(column).as_py()
    if least is not None and least < 0:
        raise OffsetsFileError(path, f"its column `{name}` has {least}: expected numbers from 0 on")
    return column


def _of_json_lines(path: Path, partition: TopicPartition) -> NDArray[np.int64]:
    offsets: list[int] = []
    others: set[TopicPartition] = set()
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            row = _parsed(path, number, line)
            whose = _whose(row, partition)
            if whose == partition:
                offsets.append(row[OFFSET])
            else:
                others.add(whose)
    if not offsets:
        refuse_others(path, partition, [each._asdict() for each in others])
    return np.array(offsets, np.int64)


def _whose(row: Mapping[str, Any], partition: TopicPartition) -> TopicPartition:
    """Return the partition of a row; what it does not say is as with the one that is asked for."""
    return TopicPartition(*(row.get(name, wanted) for name, wanted in zip(WHOSE, partition, strict=True)))


def refuse_others(path: Path | str, partition: TopicPartition, rows: Iterable[Mapping[str, Any]]) -> None:
    """Raise OffsetsFileError where there are rows, all of other partitions: then it is not known what is lacking."""
    others = sorted({str(_whose(row, partition)) for row in rows})
    if others:
        beyond = f" and {len(others) - NAMED:,} others" if len(others) > NAMED else ""
        has = f"{', '.join(others[:NAMED])}{beyond}"
        raise OffsetsFileError(path, f"no row is of {partition}; it has {has}: give the offsets of {partition}")


def _parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise OffsetsFileError(path, f"line {number} is no JSON: {error}") from error
    if type(row) is int:
        row = {OFFSET: row}
    if not isinstance(row, dict) or OFFSET not in row:
        raise OffsetsFileError(path, f'line {number} has no offset: expected an object such as {{"offset": 7}}')
    for name, largest in _LARGEST.items():
        given = row.get(name, 0)
        if type(given) is not int or not 0 <= given <= largest:
            problem = f"line {number} has {name} {_shown(given)}: expected a whole number from 0 to {largest}"
            raise OffsetsFileError(path, problem)
    if not isinstance(row.get("topic", ""), str):
        raise OffsetsFileError(path, f"line {number} has topic {_shown(row['topic'])}: expected a text")
    return row


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _of_text(path: Path) -> NDArray[np.int64]:
    try:
        return np.array(path.read_text(encoding="ascii").split(), np.int64)
    except (ValueError, OverflowError) as error:
        raise OffsetsFileError(path, f"it is no list of offsets: {_odd_word(path.read_bytes())}") from error


def _odd_word(content: bytes) -> str:
    """Return what in a text is no offset, and in which line."""
    for number, line in enumerate(content.splitlines(), 1):
        for word in line.split():
            if not (word.isdigit() and int(word) <= _LARGEST[OFFSET]):
                text = _shown(word.decode(errors="backslashreplace"))
                mark = "; save it without a byte order mark" if word.startswith(BOM_UTF8) else ""
                return f"line {number} has {text}: expected whole numbers from 0 to {_LARGEST[OFFSET]}{mark}"
    return "expected whole numbers in ASCII"
