"""A partition as a running cluster describes it, as far as it decides what copies on disks are worth."""

from dataclasses import dataclass, replace
from typing import Any, Self

from logstore.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class LivingPartition:
    """What brokers have answered; None where they did not, or refused."""

    partition: TopicPartition
    leader: int | None
    """The broker's id; None where nobody leads."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    """Out of sync, and known to have all that was committed; brokers tell it since Kafka 4.0."""
    min_isr: int | None = None
    """`min.insync.replicas`."""
    unclean_allowed: bool | None = None
    """`unclean.leader.election.enable`."""
    is_compacted: bool | None = None
    """Whether `cleanup.policy` has `compact`."""
    is_tiered: bool | None = None
    """`remote.storage.enable`."""
    log_start_offset: int | None = None
    """The leader's."""
    high_watermark: int | None = None
    """The leader's: all below it is committed."""

    def with_ends(self, log_start_offset: int | None, high_watermark: int | None) -> Self:
        """Return it with what the leader has said of its log."""
        return replace(self, log_start_offset=log_start_offset, high_watermark=high_watermark)

    def as_json(self) -> dict[str, Any]:
        """Return it as commands print it with `--json`."""
        return {
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            "replicas": list(self.replicas),
            "isr": list(self.isr),
            "elr": None if self.elr is None else list(self.elr),
            "min_insync_replicas": self.min_isr,
            "unclean_allowed": self.unclean_allowed,
            "compacted": self.is_compacted,
            "remote_storage": self.is_tiered,
            "log_start_offset": self.log_start_offset,
            "high_watermark": self.high_watermark,
        }

    def __str__(self) -> str:
        led = "nobody leads" if self.leader is None else f"broker {self.leader} leads"
        told = [f"{led} in epoch {self.leader_epoch}", f"in sync: {_listed(self.isr)}"]
        if self.elr:
            told.append(f"eligible: {_listed(self.elr)}")
        if self.high_watermark is not None:
            told.append(f"high watermark {self.high_watermark:,}")
        return "; ".join(told)


def _listed(brokers: tuple[int, ...]) -> str:
    return ", ".join(map(str, brokers)) or "nobody"
