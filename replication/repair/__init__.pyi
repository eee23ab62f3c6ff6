# What `import replication.repair` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.repair.errors import OtherPartitionError as OtherPartitionError
from replication.repair.errors import RepairError as RepairError
from replication.repair.errors import RepairTargetError as RepairTargetError
from replication.repair.range_report import HealedRange as HealedRange
from replication.repair.range_report import LeftRange as LeftRange
from replication.repair.repair_plan import RepairPlan as RepairPlan
from replication.repair.repair_plan import plan_repair as plan_repair
from replication.repair.repair_report import RepairReport as RepairReport
from replication.repair.target import open_target as open_target
