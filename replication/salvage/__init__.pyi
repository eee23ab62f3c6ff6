# What `import replication.salvage` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.salvage.conflict import Conflict as Conflict
from replication.salvage.conflict_rule import ConflictRule as ConflictRule
from replication.salvage.errors import SalvageError as SalvageError
from replication.salvage.errors import TargetError as TargetError
from replication.salvage.errors import UnknownBrokerError as UnknownBrokerError
from replication.salvage.examined_partition import Damage as Damage
from replication.salvage.examined_partition import Fork as Fork
from replication.salvage.examined_partition import TransactionInDoubt as TransactionInDoubt
from replication.salvage.files.target import open_target as open_target
from replication.salvage.key_writes import KeyWrite as KeyWrite
from replication.salvage.partition_report import LeftOut as LeftOut
from replication.salvage.partition_report import PartitionReport as PartitionReport
from replication.salvage.reason import Reason as Reason
from replication.salvage.salvage_options import SalvageOptions as SalvageOptions
from replication.salvage.salvage_plan import SalvagePlan as SalvagePlan
from replication.salvage.salvage_plan import plan_salvage as plan_salvage
from replication.salvage.salvaged_record import SalvagedRecord as SalvagedRecord
