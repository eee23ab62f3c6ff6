"""Salvaged records as a log directory, as a broker has it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from logstore.append.encoding import encode_copied
from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.log_config import MAX_INT64, LogConfig
from logstore.topic_partition import TopicPartition
from replication.copies.salvage.salvaged_record import SalvagedRecord

_CONFIG: Final = LogConfig(
    retention_ms=-1,
    max_message_bytes=2**31 - 1,
    message_timestamp_before_max_ms=MAX_INT64,
    message_timestamp_after_max_ms=MAX_INT64,
)
"""Nothing expires, and whatever a broker took is taken."""
_RECORDS_AT_ONCE: Final = 1_000
_BYTES_AT_ONCE: Final = 512 << 10
"""Of one batch, unless one record has more: brokers take up to 1 MiB by default."""


@contextmanager
def log_directory(path: Path) -> Iterator[Callable[[SalvagedRecord], object]]:
    """Write a directory of partitions' logs, whose offsets begin at 0; keys, headers and timestamps are kept.

    Raises OSError, and LogStoreError for what no log can hold.
    """
    with LogDirectory.open(path, _CONFIG) as directory:
        logs = _Logs(directory)
        yield logs.add
        logs.append()


class _Logs:
    """Appends records to the logs of their partitions, in batches."""

    def __init__(self, directory: LogDirectory) -> None:
        self._directory = directory
        self._partition: TopicPartition | None = None
        self._waiting: list[Record] = []
        self._size = 0

    def add(self, salvaged: SalvagedRecord) -> None:
        """Add a record."""
        partition = TopicPartition(salvaged.topic, salvaged.partition)
        headers = sum(len(key) + len(value or b"") for key, value in salvaged.headers)
        size = len(salvaged.key or b"") + len(salvaged.value or b"") + headers
        if partition != self._partition or len(self._waiting) >= _RECORDS_AT_ONCE or self._size + size > _BYTES_AT_ONCE:
            self.append()
        self._partition = partition
        self._waiting.append(Record(-1, salvaged.timestamp, salvaged.key, salvaged.value, salvaged.headers))
        self._size += size

    def append(self) -> None:
        """Append what waits."""
        if self._partition is None or not self._waiting:
            return
        known = self._directory.partitions
        log = known[self._partition] if self._partition in known else self._directory.create(self._partition)
        if all(record.timestamp >= NO_TIMESTAMP for record in self._waiting):
            log.append(self._waiting, leader_epoch=0)
        else:
            log.append_batches(encode_copied(self._waiting, BatchTemplate(log.log_end_offset, leader_epoch=0)))
        log.update_high_watermark(log.log_end_offset)
        self._waiting, self._size = [], 0
