"""Why records do not get into a cluster."""

from collections.abc import Sequence

from replication.copies.salvage.errors import SalvageError


class TargetRefusedError(SalvageError, ValueError):
    """The target's settings would refuse or change records; nothing was written."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(f"nothing was written: {'; '.join(problems)}")
        self.problems: tuple[str, ...] = tuple(problems)


class ClusterError(SalvageError, OSError):
    """The cluster is not there, or has refused something; or copies have changed while their records were written.

    What was written before is there whole, by transactions; of one whose commit was not answered it is not known. Run
    the same again, and the rest is written.
    """
