"""The codecs of batches, framed as Kafka frames them, with bounds to what they decompress to."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.batch.compression import decompressed_pieces as decompressed_pieces
    from logstore.batch.compression import lz4_framing as lz4_framing
    from logstore.batch.compression import snappy_framing as snappy_framing
    from logstore.batch.compression import zstd_framing as zstd_framing

__getattr__: Loader = lazy_modules(__name__)
