"""What both formats of batches have in common: a batch of records of any magic."""

from typing import TypeAlias

from logstore.batch.batch import RecordBatch
from logstore.batch.legacy_batch import LegacyBatch

Batch: TypeAlias = RecordBatch | LegacyBatch
