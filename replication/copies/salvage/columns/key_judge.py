"""Judges records by their keys: which are superseded or in conflict, and what becomes of those."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from logstore.offline.columns.column_reader import Chunk
from replication.copies.salvage.columns.key_table import KeyTable
from replication.copies.salvage.columns.key_writes import Flags, KeyWrites, Suspects
from replication.copies.salvage.columns.record_block import NUMBERS, SALVAGED, RecordBlock
from replication.copies.salvage.conflict import Conflict
from replication.copies.salvage.reason import Reason
from replication.copies.salvage.salvage_options import ConflictRule

_SUPERSEDED: Final = NUMBERS[Reason.SUPERSEDED]
_LOST: Final = {ConflictRule.LIST: NUMBERS[Reason.CONFLICT]}


class KeyVerdicts(NamedTuple):
    """What is to be said of records by their keys alone."""

    some: Suspects
    reasons: NDArray[np.int8]
    in_conflict: Flags
    against: Mapping[str, Flags]
    """Which copies have another write, by name."""


@dataclass(frozen=True, slots=True)
class KeyJudge:
    """Judges by what is known of all writes."""

    keys: KeyWrites
    rule: ConflictRule
    is_compacted: bool

    def judge(self, block: RecordBlock) -> KeyVerdicts:
        """Judge the records of a block."""
        some = self.keys.of(block)
        are_last, against = self.keys.are_last(block.branch, some), self.keys.against(block.branch, some)
        in_conflict = _any(against)
        reasons = np.full(len(some.rows), SALVAGED, np.int8)
        if self.is_compacted:
            reasons[~are_last] = _SUPERSEDED
            in_conflict &= are_last
        elif self.rule in {ConflictRule.NEWEST, ConflictRule.LOSING}:
            reasons[in_conflict & ~are_last] = _SUPERSEDED
        lost = in_conflict & (reasons == SALVAGED) & ~self.win(block, some, against)
        reasons[lost] = _LOST.get(self.rule, NUMBERS[Reason.NOT_NEWER])
        return KeyVerdicts(some, reasons, in_conflict, against)

    def are_kept_back(self, block: RecordBlock) -> NDArray[np.int64]:
        """Return the rows of records that are in conflict and do not win."""
        some = self.keys.of(block)
        against = self.keys.against(block.branch, some)
        return some.rows[_any(against) & ~self.win(block, some, against)]

    def win(self, block: RecordBlock, some: Suspects, against: Mapping[str, Flags]) -> Flags:
        """Return which records are salvaged, given what other copies have of their keys."""
        if self.rule in {ConflictRule.LIST, ConflictRule.BOTH}:
            return np.full(len(some.rows), self.rule is ConflictRule.BOTH)
        wins = np.ones(len(some.rows), np.bool_)
        kept = block.branch.kept.name
        for name, is_against in against.items():
            if name != kept or self.rule is ConflictRule.NEWEST:
                wins &= ~is_against | _are_newer(block, some, self.keys.tables[name], is_kept=name == kept)
        return wins


def _are_newer(block: RecordBlock, some: Suspects, other: KeyTable, *, is_kept: bool) -> Flags:
    times, theirs = block.records.timestamp[some.rows], other.timestamp[some.numbers]
    newer: Flags = times > theirs
    if is_kept:
        return newer
    # By construction copies that diverge are under different leaders there.
    is_later = block.epochs[some.rows] > other.leader_epoch[some.numbers]
    newer |= (times == theirs) & is_later
    return newer


def _any(against: Mapping[str, Flags]) -> Flags:
    found: Flags = np.logical_or.reduce(list(against.values()))
    return found


class ConflictTally:
    """Counts the records of keys in conflict, by copy and key."""

    def __init__(self, keys: KeyWrites) -> None:
        count = len(keys.suspects)
        self._keys = keys
        self._found: list[tuple[str, int]] = []
        """Copies and keys, in the order of their first records."""
        names = [branch.name for branch in keys.branches]
        self._records = {name: np.zeros(count, np.int64) for name in names}
        self._salvaged = {name: np.zeros(count, np.int64) for name in names}
        self._others = {name: np.zeros(count, np.int16) for name in names}
        """Which copy's write is the first that is against the last record, as a number of a table."""
        self._losing = {name: KeyTable(name, count) for name in names}

    def add(self, block: RecordBlock, verdicts: KeyVerdicts) -> None:
        """Count the records of a block, once all was decided about them."""
        chosen = np.flatnonzero(verdicts.in_conflict)
        if not len(chosen):
            return
        name, rows, numbers = block.branch.name, verdicts.some.rows[chosen], verdicts.some.numbers[chosen]
        each, firsts = np.unique(numbers, return_index=True)
        new = self._records[name][each] == 0
        self._found += [(name, number) for number in numbers[np.sort(firsts[new])].tolist()]
        np.add.at(self._records[name], numbers, 1)
        np.add.at(self._salvaged[name], numbers[block.reasons[rows] == SALVAGED], 1)
        self._losing[name].note(numbers, Chunk(block.records, block.batches), rows)
        others = list(self._keys.tables)
        first = np.zeros(len(chosen), np.int16)
        for other, is_against in reversed(list(verdicts.against.items())):
            first[is_against[chosen]] = others.index(other)
        last = len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]
        self._others[name][numbers[last]] = first[last]

    def conflicts(self) -> list[Conflict]:
        """Make an object of each."""
        return [self._conflict(name, number) for name, number in self._found]

    def _conflict(self, name: str, number: int) -> Conflict:
        other = list(self._keys.tables.values())[self._others[name][number]]
        return Conflict(
            self._keys.names[number],
            self._losing[name].write_of(number),
            other.write_of(number),
            int(self._records[name][number]),
            int(self._salvaged[name][number]),
        )
