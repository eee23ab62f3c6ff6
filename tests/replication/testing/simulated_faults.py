"""Brokers and controllers of a simulated cluster with one fault each."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from epoch import TruncationProtocol
from logstore import Log
from logstore.log.state.leader_epochs import LeaderEpochs
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.controller import cluster_state
from replication.cluster.fetcher import fetcher_settings
from replication.cluster.fetcher.decisions.fetch_rules import FetchRules
from replication.records.leadership.rules import ELR_FEATURE, Rules, rules_of
from replication.wire.error_code import ErrorCode
from tests.replication.cluster_model import faults

Fault = Callable[[], AbstractContextManager[Any]]
_BY_HIGH_WATERMARK = FetchRules(protocol=TruncationProtocol.HIGH_WATERMARK, truncate_on_fetch=False)


class BeginsLate(LedPartition):
    """Its epoch is assigned after the first append, and its log does not do so by itself."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        with patch.object(Log, "assign_epoch", lambda *_: None):
            super().__init__(*arguments, **settings)

    def append(self, data: Any, **settings: Any) -> Any:
        with patch.object(LeaderEpochs, "assign", lambda *_, **__: None):
            info = super().append(data, **settings)
        self._log.assign_epoch(self.leader_epoch, self._log.log_end_offset)
        return info


class AnswersAtOnce(LedPartition):
    """It acknowledges what no other replica has."""

    def replicated(self, offset: int) -> ErrorCode | None:
        return ErrorCode.NONE if self._leads else super().replicated(offset)


def leading(led: type[LedPartition]) -> Fault:
    """Let brokers lead by another class."""
    return lambda: patch("replication.cluster.broker.replicas.replica_manager.LedPartition", led)


def truncates_by_high_watermark() -> AbstractContextManager[Any]:
    """Followers as before KIP-101."""
    return patch.object(fetcher_settings, "REPLICA_RULES", _BY_HIGH_WATERMARK)


@contextmanager
def forgets_who_is_eligible() -> Iterator[None]:
    """A controller that lets whoever was in sync last lead, whatever it has lost."""

    def without_elr(metadata_version: int, features: Mapping[str, int], **settings: Any) -> Rules:
        return rules_of(
            metadata_version, {name: level for name, level in features.items() if name != ELR_FEATURE}, **settings
        )

    with patch.object(cluster_state, "rules_of", without_elr):
        yield


class Planted(NamedTuple):
    """A fault, and the seed of a history that notices it, or nearly."""

    fault: Fault
    seed: int


FAULTS: Final[dict[str, Planted]] = {
    "a high watermark that counts a replica outside of the ISR": Planted(leading(faults.CommitsForAnybody), 14),
    "an epoch that is assigned after the first append": Planted(leading(BeginsLate), 0),
    "an acknowledgement before the others have the record": Planted(leading(AnswersAtOnce), 0),
    "a previous broker epoch that is trusted after a crash": Planted(faults.trusts_any_broker_epoch, 30),
    "a controller that does not keep eligible leader replicas": Planted(forgets_who_is_eligible, 36),
    "followers that truncate to their high watermark": Planted(truncates_by_high_watermark, 36),
}
"""Those that random histories find."""
