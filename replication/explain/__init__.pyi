# What `import replication.explain` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.explain.errors import ExplainError as ExplainError
from replication.explain.errors import NoSuchPartitionError as NoSuchPartitionError
from replication.explain.errors import OffsetsFileError as OffsetsFileError
from replication.explain.errors import UnknownLeaderError as UnknownLeaderError
from replication.explain.evidence import ExplainedRange as ExplainedRange
from replication.explain.explaining import explain as explain
from replication.explain.explanation import Explanation as Explanation
from replication.explain.got_offsets import read_offsets as read_offsets
from replication.explain.sources import Sources as Sources
from replication.explain.why import Why as Why
