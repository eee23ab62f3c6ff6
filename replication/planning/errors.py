"""What can keep replicas from being compared."""


class PlanningError(Exception):
    """The base of this package's errors."""


class NothingInCommonError(PlanningError, ValueError):
    """The given replicas hold no partition in common."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"{', '.join(names)}: no two of them hold the same partition; name log.dirs roots of one cluster, or "
            "directories of one partition"
        )
