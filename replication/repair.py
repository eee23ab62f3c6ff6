"""A damaged copy of a partition, healed from other replicas: a new copy is written, and all that was there only read.

>>> from logstore import PartitionDirectory
>>> from replication.repair import open_target, plan_repair
>>> plan = plan_repair(PartitionDirectory.open("broker-1/orders-0"), [PartitionDirectory.open("broker-2/orders-0")])
>>> for range_ in plan.left:
...     print(range_.file, range_.position, range_.why)
>>> with open_target(Path("repaired")) as directory:
...     report = plan.write(directory / "orders-0")

Names load their modules on first use.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "copies.repair.errors": ("OtherPartitionError", "RepairError", "RepairTargetError"),
    "copies.repair.range_report": ("HealedRange", "LeftRange"),
    "copies.repair.repair_plan": ("RepairPlan", "plan_repair"),
    "copies.repair.repair_report": ("RepairReport",),
    "copies.repair.target": ("open_target",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
