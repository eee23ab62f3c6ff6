"""What an audit is asked for beside the snapshots; what would mean something else, or nothing, is refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from logstore.text.record_mask import RecordMask
from replication.base.errors import NotAllowedError
from replication.copies.audit.snapshots.arguments import (
    brokers_in,
    flag_in,
    history_in,
    mask_in,
    patience_in,
    replication_factor_in,
    rotate_in,
    sample_in,
    task_bytes_in,
    topics_in,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """The keyword arguments of `audit` and `audit_locally`."""

    records: bool = False
    """Whether every record is decoded."""
    topics: Sequence[str] = ()
    """Names, or patterns like `orders-*`; all where there are none."""
    sample: float = 1.0
    """The share of the partitions that is taken, the same in each run."""
    task_bytes: int | None = None
    """What a task reads; None leaves it to what there is to read."""
    replication_factor: int | None = None
    """Copies of a partition that no copy of the cluster's metadata mentions; None leaves it to the other copies."""
    expected_brokers: Sequence[str | int] = ()
    """Names of snapshots, or brokers' `node.id`, that must be among them."""
    history: str | Path | None = None
    """The directory in which earlier audits of the cluster have kept what they found, and this one does."""
    full: bool = False
    """Whether all is read, whatever the history has."""
    rotate: int | None = None
    """In how many runs of the history all is read once; None reads nothing again that has not changed."""
    live: bool = False
    """Whether brokers write to what is audited: partitions that move while they are read are read again."""
    patience: float = 60.0
    """With `live`, for how many seconds after all was read once that goes on."""
    mask: RecordMask | None = None
    """What names of groups and transactional ids, and the keys and values of differences, are given through."""

    def checked(self) -> Self:
        """Return them as what they should be. Raises WrongTypeError, NotAllowedError."""
        if flag_in("live", self.live) and self.task_bytes is not None:
            allowed = "None with live=True, where the copies of a partition are read together, and whole"
            raise NotAllowedError("task_bytes", self.task_bytes, allowed)
        return type(self)(
            records=flag_in("records", self.records),
            topics=topics_in(self.topics),
            sample=sample_in(self.sample),
            task_bytes=task_bytes_in(self.task_bytes),
            replication_factor=replication_factor_in(self.replication_factor),
            expected_brokers=brokers_in(self.expected_brokers),
            history=history_in(self.history),
            full=flag_in("full", self.full),
            rotate=rotate_in(self.rotate, history=self.history),
            live=self.live,
            patience=patience_in(self.patience),
            mask=mask_in(self.mask),
        )

    @property
    def is_partial(self) -> bool:
        """Whether some partitions may be left out."""
        return bool(self.topics) or self.sample < 1
