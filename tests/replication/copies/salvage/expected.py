"""What must be salvaged of a history, worked out from what was noted, in sets and without a file."""

from dataclasses import dataclass, field

from tests.replication.copies.salvage.history import Entry, Sent, common_entries, transactions

Entries = list[Entry]


@dataclass
class Expected:
    """Values of records, but for `conflicts`: broker and key."""

    salvaged: set[bytes] = field(default_factory=set)
    left_for_a_decision: set[bytes] = field(default_factory=set)
    """Open, undecided or in a transaction with a conflict: listed, unless another copy settles them."""
    conflicts: set[tuple[str, bytes]] = field(default_factory=set)
    in_conflict: set[bytes] = field(default_factory=set)


def end_of(entries: Entries, count: int) -> int:
    return entries[count - 1].end if count else 0


class Copies:
    """What each broker has, and who of them was kept."""

    def __init__(self, copies: dict[str, Entries], kept: str) -> None:
        self.copies = copies
        self.kept = copies[kept]
        self.losing = {name: entries for name, entries in copies.items() if name != kept}
        self.seen = {name: self._seen(entries) for name, entries in copies.items()}
        self.kept_name = kept

    def expected(self) -> Expected:
        """Whole transactions are judged by the log that has them; records that several have are taken once."""
        result = Expected()
        visible = {each.value for entry in self.seen[self.kept_name] for each in entry.sent}
        begun = [entry for batches, end in transactions(self.kept) if not end for entry in batches]
        pending = {each.value for entry in begun for each in entry.sent}
        own: dict[str, list[tuple[Sent, Entry]]] = {}
        undecided: set[Entry] = set()
        given: set[bytes] = set()
        for name, entry in self._candidates(result):
            for sent in entry.sent:
                if sent.value in visible or sent.value in given:
                    continue
                if sent.value in pending and entry not in self.kept:
                    result.left_for_a_decision.add(sent.value)
                    undecided.add(entry)
                    continue
                given.add(sent.value)
                own.setdefault(name, []).append((sent, entry))
        self._judge_keys(result, own, undecided)
        result.left_for_a_decision -= result.salvaged | visible
        return result

    def _seen(self, entries: Entries) -> set[Entry]:
        """The batches that a reader of committed records gets."""
        plain = {each for each in entries if not each.is_transactional}
        ended = {each for batches, end in transactions(entries) if end and end.commits for each in batches}
        return plain | ended

    def _fork(self, one: Entries, other: Entries) -> int:
        return end_of(one, common_entries(one, other))

    def _candidates(self, result: Expected) -> list[tuple[str, Entry]]:
        """Batches to be given, each by the first copy that may give it, as leaders wrote them."""
        found: dict[Entry, str] = {}
        for name, entries in self.losing.items():
            fork = self._fork(entries, self.kept)
            if fork == end_of(entries, len(entries)):
                continue
            for entry in entries:
                if entry.base_offset >= fork and not entry.is_transactional:
                    found.setdefault(entry, name)
            for batches, end in transactions(entries):
                if max(each.end for each in batches) <= fork and (end is None or end.base_offset < fork):
                    continue
                for entry in self._given_of(batches, end, fork, result):
                    found.setdefault(entry, name)
        return sorted(((name, entry) for entry, name in found.items()), key=lambda each: order(each[1]))

    def _given_of(self, batches: Entries, end: Entry | None, fork: int, result: Expected) -> Entries:
        beyond = [each for each in batches if each.base_offset >= fork]
        commits = self._commits(batches) if end is None else end.commits
        if commits is None:
            result.left_for_a_decision.update(each.value for entry in beyond for each in entry.sent)
            return []
        if not commits:
            return []
        in_kept = [each for each in batches if each in self.kept]
        if in_kept and in_kept[0] not in self.seen[self.kept_name]:
            if any(in_kept[0] in open_ for open_, marker in transactions(self.kept) if not marker):
                result.left_for_a_decision.update(each.value for entry in batches for each in entry.sent)
                return []
            return batches  # the kept copy aborted it
        return beyond

    def _commits(self, batches: Entries) -> bool | None:
        """How a later leader ended an open transaction, in a copy that has its beginning."""
        ends = [
            end
            for entries in self.copies.values()
            for ended, end in transactions(entries)
            if end and batches[0] in ended and end.leader_epoch >= batches[-1].leader_epoch
        ]
        return min(ends, key=lambda end: end.leader_epoch).commits if ends else None

    def _judge_keys(self, result: Expected, own: dict[str, list[tuple[Sent, Entry]]], undecided: set[Entry]) -> None:
        clashing: set[Sent] = set()
        in_doubt = set(undecided)
        for name, records in own.items():
            for sent, entry in records:
                if sent.key is not None and self._is_written_elsewhere(name, sent, entry, own):
                    clashing.add(sent)
                    in_doubt.add(entry)
                    result.conflicts.add((name, sent.key))
        result.in_conflict = {each.value for each in clashing}
        spoilt = self._in_transactions_of(in_doubt)
        for records in own.values():
            for sent, entry in records:
                if sent in clashing:
                    continue
                if entry in spoilt:
                    result.left_for_a_decision.add(sent.value)
                else:
                    result.salvaged.add(sent.value)

    def _in_transactions_of(self, in_doubt: set[Entry]) -> set[Entry]:
        """All batches of the transactions, in any losing copy, that these are of or share a batch with."""
        whole = [set(batches) for entries in self.losing.values() for batches, _ in transactions(entries)]
        spoilt = {entry for entry in in_doubt if entry.is_transactional}
        while more := [each for each in whole if each & spoilt and not each <= spoilt]:
            spoilt.update(*more)
        return spoilt

    def _is_written_elsewhere(
        self, name: str, sent: Sent, entry: Entry, own: dict[str, list[tuple[Sent, Entry]]]
    ) -> bool:
        offset = entry.base_offset + entry.sent.index(sent)
        fork = min(self._fork(self.copies[name], self.kept), offset)
        for other in self.seen[self.kept_name]:
            for number, theirs in enumerate(other.sent):
                if theirs.key == sent.key and other.base_offset + number >= fork:
                    return True
        for another, records in own.items():
            fork = self._fork(self.copies[name], self.copies[another])
            if another != name and offset >= fork:
                for theirs, place in records:
                    if theirs.key == sent.key and place.base_offset + place.sent.index(theirs) >= fork:
                        return True
        return False


def order(entry: Entry) -> tuple[int, int]:
    return entry.leader_epoch, entry.base_offset
