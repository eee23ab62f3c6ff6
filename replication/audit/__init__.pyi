# What `import replication.audit` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.audit.judgement.judgement import judge as judge
from replication.audit.judgement.recommendation import Candidate as Candidate
from replication.audit.judgement.recommendation import Recommendation as Recommendation
from replication.audit.judgement.verdict import PairVerdict as PairVerdict
from replication.audit.judgement.verdict import PartitionVerdict as PartitionVerdict
from replication.audit.judgement.verdict import Verdict as Verdict
from replication.audit.local.auditing import audit_locally as audit_locally
from replication.audit.local.local_audit import LocalAudit as LocalAudit
from replication.audit.local_judging import JudgedPartition as JudgedPartition
from replication.audit.local_judging import judge_replicas as judge_replicas
from replication.audit.pipeline.audit_outcome import AuditOutcome as AuditOutcome
from replication.audit.snapshots.snapshot import Snapshot as Snapshot
from replication.audit.snapshots.snapshot import find_snapshots as find_snapshots
from replication.audit.spark.audit_result import Audit as Audit
from replication.audit.spark.auditing import audit as audit
from replication.audit.spark.sessions.session import prepare_session as prepare_session
from replication.audit.spark.sessions.session import start_session as start_session
