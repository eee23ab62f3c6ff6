# What `import replication.explain` offers, for type checkers; the module loads each name on first use.
from replication.copies.explain.errors import ExplainError as ExplainError
from replication.copies.explain.errors import NoSuchPartitionError as NoSuchPartitionError
from replication.copies.explain.errors import OffsetsFileError as OffsetsFileError
from replication.copies.explain.errors import UnknownLeaderError as UnknownLeaderError
from replication.copies.explain.evidence import ExplainedRange as ExplainedRange
from replication.copies.explain.explaining import explain as explain
from replication.copies.explain.explanation import Explanation as Explanation
from replication.copies.explain.got_offsets import read_offsets as read_offsets
from replication.copies.explain.sources import Sources as Sources
from replication.copies.explain.why import Why as Why
