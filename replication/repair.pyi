# What `import replication.repair` offers, for type checkers; the module loads each name on first use.
from replication.copies.repair.errors import OtherPartitionError as OtherPartitionError
from replication.copies.repair.errors import RepairError as RepairError
from replication.copies.repair.errors import RepairTargetError as RepairTargetError
from replication.copies.repair.range_report import HealedRange as HealedRange
from replication.copies.repair.range_report import LeftRange as LeftRange
from replication.copies.repair.repair_plan import RepairPlan as RepairPlan
from replication.copies.repair.repair_plan import plan_repair as plan_repair
from replication.copies.repair.repair_report import RepairReport as RepairReport
from replication.copies.repair.target import open_target as open_target
