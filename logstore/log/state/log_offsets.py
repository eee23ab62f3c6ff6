"""Where a log begins and ends at one moment."""

from typing import TypeAlias

LogOffsets: TypeAlias = tuple[int, int, int, int]
"""The log start offset, the high watermark, the last stable offset and the log end offset (Kafka: LogOffsetSnapshot).

A plain tuple, as a fetch makes one of each of its partitions: a NamedTuple takes twice as long.
"""
