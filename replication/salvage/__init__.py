"""What losing copies hold and the kept one lacks: records that an unclean election cut off, brought back.

>>> from replication.salvage import open_target, plan_salvage
>>> plan = plan_salvage([Path("broker-1"), Path("broker-2")], kept="broker-2")
>>> with open_target(Path("recovered.parquet")) as write:
...     for report in plan.reports(write):
...         print(report.topic, report.partition, report.salvaged, report.counts)

Names load their modules on first use.
"""

from replication.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "cluster.cuts": ("TransactionSize",),
    "cluster.errors": ("ClusterError", "TargetRefusedError"),
    "cluster.partition_writing": ("ProducedPartition",),
    "cluster.production": ("Production", "produce"),
    "columns.block_sink": ("BlockSink",),
    "columns.salvaged_block": ("SalvagedBlock",),
    "columns.doubtful_transactions": ("TransactionInDoubt",),
    "columns.tally": ("LeftOut",),
    "common_part": ("Difference",),
    "conflict": ("Conflict", "KeyWrite"),
    "errors": ("KeptDamagedError", "SalvageError", "TargetError", "UnknownBrokerError"),
    "examined_partition": ("DamageBelow", "Fork"),
    "files.target": ("open_target",),
    "partition_report": ("PartitionReport",),
    "reason": ("Reason",),
    "salvage_options": ("ConflictRule", "SalvageOptions"),
    "salvage_plan": ("SalvagePlan", "plan_salvage"),
    "salvaged_record": ("SalvagedRecord",),
    "sound_copy": ("Damage",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
