"""What unclean elections made of transactions, by what the kept copies and the others have of them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from logstore.batch.batch_attributes import SEQUENCES
from logstore.errors import LogStoreError
from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from replication.base.chosen_topics import is_chosen
from replication.copies.planning.failures import PARTITION_ERRORS, OnError, stop
from replication.copies.planning.plan import common_end
from replication.copies.planning.replica import holding, in_common
from replication.copies.planning.rereading import judge_copies
from replication.copies.salvage.salvage_plan import SalvagePlan
from replication.copies.salvage.sound_copy import SoundCopy, damage_of
from replication.copies.salvage.transactions import LoneEnd, Outcome, Transaction, Transactions
from replication.copies.transactions.broken_transaction import Break, BrokenTransaction


@dataclass(frozen=True, slots=True)
class ComparedTransactions:
    """One partition's broken transactions, and what was not read."""

    partition: TopicPartition
    broken: tuple[BrokenTransaction, ...]
    damage: Mapping[str, LogStoreError]
    """By copy: nothing behind it was read, or offsets are missing there."""
    damage_below: Mapping[str, LogStoreError]
    """By copy: damage below the fork, seen on the way there."""

    @property
    def is_damaged(self) -> bool:
        """Whether any copy is damaged where it was looked at."""
        return bool(self.damage or self.damage_below)


def find_broken(
    plan: SalvagePlan, *, topics: Collection[str] = (), on_error: OnError = stop
) -> Iterator[ComparedTransactions]:
    """Compare the transactions of all partitions that the plan's kept copy and another one hold; or of some topics.

    `on_error` decides whether a partition that cannot be read is left out. Raises LogStoreError and OSError.
    """
    compare = partial(_compare, plan.kept, plan.options.compacted)
    for partition in in_common(plan.replicas):
        if not is_chosen(partition.topic, topics):
            continue
        copies = holding(plan.replicas, partition)
        if plan.kept not in copies:
            continue
        try:
            compared = judge_copies(partition, copies, compare, on_error)
        except PARTITION_ERRORS as error:
            on_error(partition, error)
        else:
            if compared is not None:
                yield compared


def _compare(kept: str, compacted: Collection[str], logs: Mapping[str, RecoveredLog]) -> ComparedTransactions | None:
    if kept not in logs:
        return None  # `on_error` knows why
    forks = {name: common_end(logs[kept], log) for name, log in logs.items() if name != kept}
    forks = {name: fork for name, fork in forks.items() if fork < logs[name].log_end_offset}
    start = min(forks.values(), default=logs[kept].log_end_offset)
    copies = {name: SoundCopy.check(name, logs[name], start) for name in (kept, *forks)}
    broken: list[BrokenTransaction] = []
    partition = logs[kept].partition.topic_partition
    if any(copy.is_transactional for copy in copies.values()):
        read = {name: Transactions.read(copy) for name, copy in copies.items()}
        for name, fork in forks.items():
            broken += _Comparison(partition, name, fork, read[name], read[kept]).broken()
    below = {name: copy.damage_below for name, copy in copies.items() if copy.damage_below}
    damage: dict[str, LogStoreError] = {}
    for each in damage_of(logs, copies, compacted=partition.topic in compacted):
        damage.setdefault(each.source, each.error)
    return ComparedTransactions(partition, tuple(broken), damage, below)


@dataclass(frozen=True, slots=True)
class _Comparison:
    partition: TopicPartition
    replica: str
    fork: int
    other: Transactions
    kept: Transactions

    def broken(self) -> Iterator[BrokenTransaction]:
        """Go through the other copy's transactions that reach the fork."""
        for transactions in self.other.by_producer.values():
            for transaction in transactions:
                end = transaction.last_offset if transaction.end_offset is None else transaction.end_offset
                if end >= self.fork:
                    is_last = transaction is transactions[-1]
                    begins_before = transaction.first_offset < self.fork
                    found = (
                        self._straddling(transaction) if begins_before else self._beyond(transaction, is_last=is_last)
                    )
                    if found:
                        yield found

    def _straddling(self, transaction: Transaction) -> BrokenTransaction | None:
        """Judge one whose beginning both copies have, or had."""
        held = self.kept.holding(transaction.producer_id, transaction.first_offset)
        if held is None:
            return None
        outcomes = {transaction.outcome, held.outcome}
        if held.outcome is Outcome.OPEN and transaction.outcome is not Outcome.OPEN:
            return self._broken(Break.END_CUT_OFF, transaction, held)
        if outcomes == {Outcome.COMMITTED, Outcome.ABORTED}:
            return self._broken(Break.DECIDED_DIFFERENTLY, transaction, held)
        if (
            transaction.last_offset >= self.fork
            and Outcome.ABORTED not in outcomes
            and not self._is_resent(transaction, held)
        ):
            return self._broken(Break.PART_CUT_OFF, transaction, held)
        return None

    def _beyond(self, transaction: Transaction, *, is_last: bool) -> BrokenTransaction | None:
        """Judge one that begins beyond the fork: what the kept copy has of it was written there anew."""
        for held in self.kept.by_producer.get(transaction.producer_id, ()):
            if held.first_offset >= self.fork and held.producer_epoch == transaction.producer_epoch:
                missing = (held.first_sequence - transaction.first_sequence) % SEQUENCES
                if 0 < missing < SEQUENCES // 2 and is_last:
                    return self._broken(Break.BEGINNING_CUT_OFF, transaction, held)
                return None
        for end in self.kept.lone_ends.get(transaction.producer_id, ()):
            # A later epoch: the coordinator has begun the next one by it (KIP-890).
            if end.offset >= self.fork and end.producer_epoch >= transaction.producer_epoch:
                is_lost = is_last and end.outcome is Outcome.COMMITTED
                return self._broken(Break.RECORDS_CUT_OFF, transaction, end) if is_lost else None
        return None

    def _is_resent(self, transaction: Transaction, held: Transaction) -> bool:
        """Whether the kept copy's part of it goes as far: its producer sent again what was cut off."""
        return held.last_sequence == transaction.last_sequence and not held.has_gap

    def _broken(self, kind: Break, transaction: Transaction, held: Transaction | LoneEnd) -> BrokenTransaction:
        if isinstance(held, LoneEnd):
            kept_offset = held.offset
        else:
            kept_offset = held.first_offset if held.end_offset is None else held.end_offset
        return BrokenTransaction(
            self.partition,
            kind,
            self.replica,
            self.fork,
            transaction.producer_id,
            transaction.producer_epoch,
            transaction.first_offset,
            transaction.last_offset,
            transaction.outcome,
            transaction.end_offset,
            held.outcome,
            kept_offset,
        )
