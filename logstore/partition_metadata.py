"""The old place of `PartitionMetadata` and `format_uuid`, for one version: import from `logstore`."""

import warnings

from logstore.files.partition_metadata import PartitionMetadata, format_uuid

__all__ = ["PartitionMetadata", "format_uuid"]

warnings.warn(
    "logstore.partition_metadata has moved: use `from logstore import PartitionMetadata, format_uuid`",
    DeprecationWarning,
    stacklevel=2,
)
