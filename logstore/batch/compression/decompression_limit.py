"""What a batch's compressed bytes may cost, whatever they say."""

from typing import Final

from logstore.errors import DecompressionLimitError

DECOMPRESSION_LIMIT: Final = 64 << 20
"""Bytes that any batch may be decompressed to at once: 64 times the default `max.message.bytes`."""
PRODUCER_LIMIT: Final = 256 << 20
"""Bytes that a batch may decompress to which a producer sends: Java's, with `zstd`, have sent 100 MiB in 80 KiB."""
DECOMPRESSION_RATIO: Final = 16
"""Larger batches may decompress to this many times their own size, which the disk has already borne."""
MOST_HEADERS: Final = 1 << 16
"""Headers of a record that a producer sends: each costs time and memory, and compressed hardly a byte."""

MOST_BLOCKS: Final = 1 << 16
"""Blocks, members or headers that any batch may consist of: each costs time, and may hold nothing."""
BYTES_PER_BLOCK: Final = 64
"""Larger batches may have one for so many compressed bytes. Kafka's producers make blocks of 32 KiB and more."""


def decompression_limit(compressed_size: int) -> int:
    """Return the bytes that a batch with this many compressed bytes may decompress to, unless the caller says."""
    return max(DECOMPRESSION_LIMIT, DECOMPRESSION_RATIO * compressed_size)


def block_limit(compressed_size: int) -> int:
    """Return how many blocks a batch with this many compressed bytes may consist of."""
    return max(MOST_BLOCKS, compressed_size // BYTES_PER_BLOCK)


def too_many_blocks(compressed_size: int, what: str) -> DecompressionLimitError:
    """Make the error for more than `block_limit` of `what`."""
    return DecompressionLimitError(
        f"{compressed_size:,} bytes consist of more than {block_limit(compressed_size):,} {what}"
    )
