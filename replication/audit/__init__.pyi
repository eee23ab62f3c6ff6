# What `import replication.audit` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.audit.auditing import Audit as Audit
from replication.audit.auditing import audit as audit
from replication.audit.judgement import judge as judge
from replication.audit.session import prepare_session as prepare_session
from replication.audit.session import start_session as start_session
from replication.audit.snapshot import Snapshot as Snapshot
from replication.audit.snapshot import find_snapshots as find_snapshots
from replication.audit.verdict import PairVerdict as PairVerdict
from replication.audit.verdict import PartitionVerdict as PartitionVerdict
from replication.audit.verdict import Verdict as Verdict
