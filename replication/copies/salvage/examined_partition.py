"""One partition's losing branches, examined: which of their records are salvaged, and why the others are not."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from epoch import EpochHistory
from logstore.errors import LogStoreError
from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from replication.copies.planning.known_end import lost_end
from replication.copies.planning.plan import common_end
from replication.copies.salvage.branch import Branch, ComparedCopy
from replication.copies.salvage.columns.doubtful_transactions import DoubtfulTransactions
from replication.copies.salvage.columns.earlier_runs import EarlierRuns
from replication.copies.salvage.columns.key_judge import ConflictTally, KeyJudge
from replication.copies.salvage.columns.key_writes import KeyWrites
from replication.copies.salvage.columns.record_block import NUMBERS, SALVAGED, RecordBlock
from replication.copies.salvage.common_part import Difference, difference
from replication.copies.salvage.conflict import Conflict
from replication.copies.salvage.errors import KeptDamagedError
from replication.copies.salvage.own_batches import KeptRecords, OwnBatch, OwnBatches, TransactionName
from replication.copies.salvage.reason import Reason
from replication.copies.salvage.salvage_options import ConflictRule, SalvageOptions
from replication.copies.salvage.sound_copy import DamagedCopy, SoundCopy, damage_of
from replication.copies.salvage.transactions import Transactions

Look = Callable[[RecordBlock], None]
"""Is given records about which nothing but their keys may still have to be decided."""


class Fork(NamedTuple):
    """Where a losing copy diverges from the kept one."""

    source: str
    offset: int
    """The kept copy goes on differently from there, or ends; the losing one's log may begin later."""
    kept_end: int
    end: int
    """Of the losing copy's log."""


class DamageBelow(NamedTuple):
    """Damage of a copy below its fork, which was seen on the way there: none of that is salvaged."""

    source: str
    error: LogStoreError


_OF_WHOLE_TRANSACTION: Final = [SALVAGED, NUMBERS[Reason.SUPERSEDED]]
"""What may yet become of a record of a transaction as the others are judged."""


@dataclass(slots=True)
class ExaminedPartition:
    """What is known once the copies were read."""

    topic_partition: TopicPartition
    kept: str
    forks: Sequence[Fork]
    kept_holds: bool
    """Whether the kept copy holds the partition; else it counts as empty there."""
    damage: Sequence[DamagedCopy]
    damage_below: Sequence[DamageBelow]
    differences: Sequence[Difference]
    """Other copies that are not what the kept one is, though their epochs say so."""
    own: OwnBatches
    doubtful: DoubtfulTransactions
    """Known once `blocks` has ended."""
    judge: KeyJudge
    is_compacted: bool
    conflicts: list[Conflict] = field(default_factory=list)
    """Known once `blocks` has ended."""
    _not_whole: set[TransactionName] = field(default_factory=set)
    """Committed transactions that are left out, as somebody has to decide about a record of them."""

    @classmethod
    def examine(
        cls,
        partition: TopicPartition,
        logs: Mapping[str, RecoveredLog],
        kept: str,
        options: SalvageOptions,
        look: Look,
        cluster_id: str | None = None,
    ) -> "ExaminedPartition":
        """Read the copies of a partition, by their brokers' names; the kept one is empty where it is not among them.

        `look` is given all records where keys have to be compared, before that is done: see `is_seen`. `cluster_id`
        is that of the copies, if it is known. Raises KeptDamagedError, LogStoreError, EpochError and OSError.
        """
        kept_holds = kept in logs
        if not kept_holds:
            logs = {kept: _empty(next(iter(logs.values()))), **logs}
        ends = _common_ends(kept, logs)
        losing = [name for name in logs if name != kept and ends[name][kept] < logs[name].log_end_offset]
        start = min((ends[name][kept] for name in losing), default=logs[kept].log_end_offset)
        copies = {name: SoundCopy.check(name, logs[name], start) for name in (kept, *losing)}
        is_compacted = partition.topic in options.compacted or any(
            log.partition.checkpoints.cleaner_offset is not None for log in logs.values()
        )
        held_logs = {name: log for name, log in logs.items() if name != kept or kept_holds}
        damage = list(damage_of(held_logs, copies, compacted=is_compacted))
        if kept_holds:
            _ensure_whole(copies[kept], damage)
        is_transactional = any(copy.is_transactional for copy in copies.values())
        compared = {
            name: ComparedCopy(copy, ends[name], Transactions.read(copy) if is_transactional else Transactions())
            for name, copy in copies.items()
        }
        branches = [
            Branch(
                each.copy,
                each.ends,
                each.transactions,
                compared[kept],
                [other for other in compared.values() if other is not each],
                is_compacted,
            )
            for each in compared.values()
            if each.name != kept
        ]
        renumbered = frozenset().union(*(copy.renumbered for copy in copies.values()))
        held = KeptRecords.read(
            partition, cluster_id, compared[kept], start, renumbered, by_key_and_value=options.by_key_and_value
        )
        own = OwnBatches(branches, held, renumbered, options.by_key_and_value)
        doubtful = DoubtfulTransactions(branches)

        def see(block: RecordBlock) -> None:
            doubtful.note(block)
            look(block)

        earlier = EarlierRuns(partition, cluster_id, branches)
        keys = KeyWrites.read(compared[kept], own, earlier, see, is_compacted=is_compacted)
        examined = cls(
            partition,
            kept,
            [_fork(name, logs[name], ends[name][kept], logs[kept]) for name in losing],
            kept_holds,
            damage,
            [DamageBelow(copy.name, copy.damage_below) for copy in copies.values() if copy.damage_below],
            list(_differences(kept, logs, ends)),
            own,
            doubtful,
            KeyJudge(keys, options.conflicts, is_compacted),
            is_compacted,
        )
        if is_transactional and (options.conflicts is not ConflictRule.BOTH or held.undecided.ranges):
            examined._not_whole = examined._transactions_left_out()
        return examined

    @property
    def is_seen(self) -> bool:
        """Whether the blocks that `look` was given are what `blocks` would yield, as no key is looked at."""
        return self.judge.keys.were_seen and not self._not_whole

    def blocks(self) -> Iterator[RecordBlock]:
        """Decide on every record beyond the forks, in the order in which leaders wrote them.

        Raises what `examine` raises.
        """
        self.doubtful.found.clear()
        tally = ConflictTally(self.judge.keys)
        for block in RecordBlock.read(self.own):
            self._decide(block, tally)
            self.doubtful.note(block)
            yield block
        self.conflicts = tally.conflicts()

    def _decide(self, block: RecordBlock, tally: ConflictTally) -> None:
        """Judge records by their keys, and those of a transaction as all of that is judged."""
        verdicts = self.judge.judge(block)
        block.reasons[verdicts.some.rows] = verdicts.reasons
        open_to_decide = np.flatnonzero(np.isin(block.reasons, _OF_WHOLE_TRANSACTION))
        for own, rows in block.by_batch(open_to_decide[block.is_transactional(open_to_decide)]):
            of_rows = block.reasons[rows]
            if own.transaction in self._not_whole:
                of_rows[of_rows == SALVAGED] = NUMBERS[Reason.INCOMPLETE]
            elif not self.is_compacted:  # it is whole, and the later record of the key follows
                of_rows[:] = SALVAGED
            block.reasons[rows] = of_rows
        tally.add(block, verdicts)

    def _transactions_left_out(self) -> set[TransactionName]:
        """Name committed transactions of which a record is kept back."""
        names: set[TransactionName] = set()
        for block in RecordBlock.read(each for each in self.own if each.batch.is_transactional):
            undecided = np.flatnonzero(block.reasons == NUMBERS[Reason.UNDECIDED])
            for own, _ in block.by_batch(undecided):
                if own.branch.reason(own.batch) is None:  # it is only its number that a kept transaction has, too
                    names.update(self._names(own))
            for own, _ in block.by_batch(self.judge.are_kept_back(block)):
                names.update(self._names(own))
        return names

    def _names(self, own: OwnBatch) -> Iterator[TransactionName]:
        """Name the transaction of a batch in every losing copy that has its beginning: they share its records."""
        _, producer_id, first = own.transaction
        for other in self.own.branches:
            if other is own.branch or first < own.branch.ends[other.name]:
                yield other.name, producer_id, first


def _fork(name: str, log: RecoveredLog, offset: int, kept: RecoveredLog) -> Fork:
    return Fork(name, max(offset, log.log_start_offset), kept.log_end_offset, log.log_end_offset)


def _ensure_whole(kept: SoundCopy, damage: Sequence[DamagedCopy]) -> None:
    """Refuse to count as lost what a damaged copy had. Raises KeptDamagedError, EpochError and OSError."""
    found = [kept.damage_below, *(each.error for each in damage if each.source == kept.name)]
    if kept.is_cut_short():
        found = [each for each in found if each is not kept.damage] + [lost_end(kept.log)]
    for error in filter(None, found):
        raise KeptDamagedError.of(kept.name, error)


def _differences(
    kept: str, logs: Mapping[str, RecoveredLog], ends: Mapping[str, Mapping[str, int]]
) -> Iterator[Difference]:
    for name, log in logs.items():
        if name != kept and (found := difference(logs[kept], name, log, ends[name][kept])):
            yield found


def _empty(log: RecoveredLog) -> RecoveredLog:
    """Return what a broker has that does not hold the partition."""
    return replace(
        log,
        log_start_offset=0,
        log_end_offset=0,
        high_watermark=None,
        history=EpochHistory(),
        segments=(),
        valid_bytes=0,
        damage=None,
    )


def _common_ends(kept: str, logs: Mapping[str, RecoveredLog]) -> dict[str, dict[str, int]]:
    """Return where each two copies diverge, by their names; the kept one counts as the leader of all."""
    ends: dict[str, dict[str, int]] = {name: {} for name in logs}
    names = [kept, *(name for name in logs if name != kept)]
    for number, one in enumerate(names):
        for other in names[number + 1 :]:
            ends[one][other] = ends[other][one] = common_end(logs[one], logs[other])
    return ends
