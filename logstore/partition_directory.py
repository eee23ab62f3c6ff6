"""The old place of `PartitionDirectory`, for one version: import from `logstore`."""

import warnings

from logstore.offline.partition_directory import PartitionDirectory

__all__ = ["PartitionDirectory"]

warnings.warn(
    "logstore.partition_directory has moved: use `from logstore import PartitionDirectory`",
    DeprecationWarning,
    stacklevel=2,
)
