"""Files of offsets that somebody has: Parquet, JSON lines, or numbers as text."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from logstore.topic_partition import TopicPartition
from replication.explain.errors import OffsetsFileError

OFFSET: Final = "offset"
_WHOSE: Final = ("topic", "partition")
_JSON: Final = frozenset({".jsonl", ".ndjson", ".json"})


def read_offsets(path: Path, partition: TopicPartition) -> NDArray[np.int64]:
    """Read the offsets of a partition, each once and by size.

    Parquet and JSON lines, which are known by their suffix, have a column `offset`; where they have `topic` and
    `partition` too, only the rows of this partition count. Any other file has numbers, with blanks or line ends between
    them. Raises OffsetsFileError, ModuleNotFoundError for Parquet without pyarrow, and OSError.
    """
    if path.suffix == ".parquet":
        offsets = _of_parquet(path, partition)
    elif path.suffix in _JSON:
        offsets = np.array(list(_of_json_lines(path, partition)), np.int64)
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
        table = pq.read_table(path, columns=[OFFSET, *(name for name in _WHOSE if name in names)])
        for name, wanted in zip(_WHOSE, partition, strict=True):
            if name in names:
                table = table.filter(pc.equal(table[name], wanted))
        column: NDArray[np.int64] = pc.drop_null(table[OFFSET]).cast(pa.int64()).to_numpy()
    except pa.ArrowException as error:
        raise OffsetsFileError(path, f"it is no Parquet file of offsets: {error}") from error
    return column


def _of_json_lines(path: Path, partition: TopicPartition) -> Iterator[int]:
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            row = _parsed(path, number, line)
            if all(row.get(name, wanted) == wanted for name, wanted in zip(_WHOSE, partition, strict=True)):
                yield row[OFFSET]


def _parsed(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise OffsetsFileError(path, f"line {number} is no JSON: {error}") from error
    if isinstance(row, int) and not isinstance(row, bool):
        return {OFFSET: row}
    if not isinstance(row, dict) or type(row.get(OFFSET)) is not int:
        raise OffsetsFileError(path, f'line {number} has no offset: expected an object such as {{"offset": 7}}')
    return row


def _of_text(path: Path) -> NDArray[np.int64]:
    try:
        return np.array(path.read_text(encoding="ascii").split(), np.int64)
    except (ValueError, OverflowError) as error:
        raise OffsetsFileError(path, f"it is no list of offsets, one a line: {error}") from error
