"""What losing copies hold and the kept one lacks: records that an unclean election cut off, brought back.

>>> from replication.salvage import open_target, plan_salvage
>>> plan = plan_salvage([Path("broker-1"), Path("broker-2")], kept="broker-2")
>>> with open_target(Path("recovered.parquet")) as write:
...     for report in plan.reports(write):
...         print(report.topic, report.partition, report.salvaged, report.counts)

Names load their modules on first use.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "copies.salvage.cluster.cuts": ("TransactionSize",),
    "copies.salvage.cluster.errors": ("ClusterError", "TargetRefusedError"),
    "copies.salvage.cluster.partition_writing": ("ProducedPartition",),
    "copies.salvage.cluster.production": ("Production", "produce"),
    "copies.salvage.columns.block_sink": ("BlockSink",),
    "copies.salvage.columns.salvaged_block": ("SalvagedBlock",),
    "copies.salvage.columns.doubtful_transactions": ("TransactionInDoubt",),
    "copies.salvage.columns.tally": ("LeftOut",),
    "copies.salvage.common_part": ("Difference",),
    "copies.salvage.conflict": ("Conflict", "KeyWrite"),
    "copies.salvage.errors": ("KeptDamagedError", "SalvageError", "TargetError", "UnknownBrokerError"),
    "copies.salvage.examined_partition": ("DamageBelow", "Fork"),
    "copies.salvage.files.target": ("open_target",),
    "copies.salvage.partition_report": ("PartitionReport",),
    "copies.salvage.reason": ("Reason",),
    "copies.salvage.salvage_options": ("ConflictRule", "SalvageOptions"),
    "copies.salvage.salvage_plan": ("SalvagePlan", "plan_salvage"),
    "copies.salvage.salvaged_record": ("SalvagedRecord",),
    "copies.salvage.sound_copy": ("DamagedCopy",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES, renamed={"Damage": "DamagedCopy"})


def __dir__() -> list[str]:
    return list(__all__)
