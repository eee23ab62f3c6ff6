"""What can keep replicas from being compared or from working together."""


class ReplicationError(Exception):
    """The base of all errors about more than one replica."""


class NothingInCommonError(ReplicationError, ValueError):
    """The given replicas hold no partition in common."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"{', '.join(names)}: no two of them hold the same partition; name log.dirs roots of one cluster, or "
            "directories of one partition"
        )
