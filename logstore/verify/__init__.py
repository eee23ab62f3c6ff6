"""Check every file of a replica against the others, and report all findings."""

from logstore.verify.epochs import EpochComparison, compare_epochs
from logstore.verify.finding import Finding, Severity
from logstore.verify.verify import bytes_to_read, verify, verify_partition, verify_root

__all__ = [
    "EpochComparison",
    "Finding",
    "Severity",
    "bytes_to_read",
    "compare_epochs",
    "verify",
    "verify_partition",
    "verify_root",
]
