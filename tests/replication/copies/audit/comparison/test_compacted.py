"""Cleaned copies agree in what each key says last, however far the cleaner was; where they do not, that is found."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from epoch.checkpoint import format_checkpoint
from logstore.batch.compression import codec as codecs
from logstore.batch.compression.codec import compress
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Severity
from replication.copies.audit.comparison import compacted
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.judgement.verdict import PartitionVerdict, Verdict
from tests.logstore.batches import CONTROL, GZIP, TRANSACTIONAL, batch, record
from tests.replication.copies.audit.logs import examined

EXAMPLES = 40
KEYS = [b"a", b"b", b"c"]
ABORT = struct.pack(">hh", 0, 0)
COMMIT = struct.pack(">hh", 0, 1)


@dataclass(frozen=True)
class Entry:
    """One record. `transaction` says how that of its batch ended, None where there was none."""

    offset: int
    key: bytes
    value: bytes | None
    transaction: bytes | None = None
    is_marker: bool = False

    @property
    def is_aborted(self) -> bool:
        return self.transaction == ABORT


@dataclass(frozen=True)
class Original:
    """What the leader wrote: batches of one record or a few."""

    batches: tuple[tuple[Entry, ...], ...]

    @property
    def end(self) -> int:
        return self.batches[-1][-1].offset + 1

    def cleaned(self, point: int, *, keep_tombstones: bool, keep_empty: bool) -> tuple[tuple[Entry, ...], ...]:
        """What the cleaner leaves of it below `point`, which is where a batch begins."""
        below = [each for batch in self.batches for each in batch if each.offset < point]
        speaking = [each for each in below if not each.is_aborted and not each.is_marker]
        last = {each.key: each.offset for each in speaking}

        def stays(entry: Entry) -> bool:
            if entry.offset >= point or entry.is_marker:
                return True
            is_last = not entry.is_aborted and last[entry.key] == entry.offset
            return is_last and (entry.value is not None or keep_tombstones)

        kept = [tuple(filter(stays, batch)) for batch in self.batches]
        return tuple(after if after or keep_empty else () for after in kept)


@st.composite
def originals(draw: st.DrawFn) -> Original:
    batches: list[tuple[Entry, ...]] = []
    offset = 0
    for count in draw(st.lists(st.integers(1, 3), min_size=2, max_size=14)):
        end = draw(st.sampled_from([None, None, None, ABORT, COMMIT]))
        entries = []
        for _ in range(count):
            value = draw(st.sampled_from([None, b"1", b"2"]))
            entries.append(Entry(offset, draw(st.sampled_from(KEYS)), value, end))
            offset += 1
        batches.append(tuple(entries))
        if end is not None:
            batches.append((Entry(offset, end, b"\0\0\0\0\0\0", end, is_marker=True),))
            offset += 1
    return Original(tuple(batches))


@dataclass(frozen=True)
class Cleaned:
    """One copy: how far the cleaner was, and what it did."""

    original: Original
    point: int
    keep_tombstones: bool
    keep_empty: bool
    count: int
    """Batches that this copy has, of all."""

    def batches(self) -> tuple[tuple[Entry, ...], ...]:
        cleaned = self.original.cleaned(self.point, keep_tombstones=self.keep_tombstones, keep_empty=self.keep_empty)
        return cleaned[: self.count]


@st.composite
def cleaned_copies(draw: st.DrawFn, original: Original, *, whole: bool = False) -> Cleaned:
    starts = [batch[0].offset for batch in original.batches]
    count = len(original.batches) if whole else draw(st.integers(1, len(original.batches)))
    point = draw(st.sampled_from(starts[:count]))
    return Cleaned(original, point, draw(st.booleans()), draw(st.booleans()), count)


def write(root: Path, original: Original, batches: Sequence[tuple[Entry, ...]], point: int) -> PartitionDirectory:
    """Write what is left of the original's batches; the cleaner's point begins the active segment."""
    partition = root / "t-0"
    partition.mkdir(parents=True)
    files = {0: b"", point: b""}
    for whole, left in zip(original.batches, batches, strict=False):
        base = whole[0].offset
        if left or base >= point:
            files[point if base >= point else 0] += encoded(whole, left)
    for base, content in files.items():
        (partition / f"{base:020d}.log").write_bytes(content)
    if not point:  # of a cleaned log nothing is expected of the index
        aborted = [each[0] for each in batches if each and each[0].is_marker and each[0].is_aborted]
        index = [struct.pack(">hqqqq", 0, 7, begins(original, end), end.offset, end.offset + 1) for end in aborted]
        (partition / f"{0:020d}.txnindex").write_bytes(b"".join(index))
    (partition / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0)]))
    if point:
        (root / "cleaner-offset-checkpoint").write_bytes(format_checkpoint([("t", "0", point)]))
    (root / "replication-offset-checkpoint").write_bytes(format_checkpoint([("t", "0", 0)]))
    return next(OfflineLogDirectory.open(root).partitions())


def begins(original: Original, marker: Entry) -> int:
    """Where the transaction of a marker begins: with the batch before it."""
    return next(batch[0].offset for batch in original.batches if batch[-1].offset + 1 == marker.offset)


def encoded(whole: Sequence[Entry], left: Sequence[Entry]) -> bytes:
    """Compressed where the offset is even."""
    first = whole[0]
    codec = GZIP if left and first.offset % 2 == 0 and not first.is_marker else 0
    attributes = codec | (TRANSACTIONAL if first.transaction else 0) | (CONTROL if first.is_marker else 0)
    records = b"".join(record(offset_delta=each.offset - first.offset, key=each.key, value=each.value) for each in left)
    return batch(
        section=compress(codec, records),
        record_count=len(left),
        base_offset=first.offset,
        last_offset_delta=len(whole) - 1,
        attributes=attributes,
        producer_id=7 if first.transaction else -1,
        producer_epoch=0 if first.transaction else -1,
    )


def judged(*copies: tuple[Cleaned, Sequence[tuple[Entry, ...]]]) -> PartitionVerdict:
    with TemporaryDirectory() as directory:
        partitions = {
            f"broker-{n}": write(Path(directory) / f"broker-{n}", copy.original, batches, copy.point)
            for n, (copy, batches) in enumerate(copies, 1)
        }
        return judge(examined(partitions))


def errors(verdict: PartitionVerdict) -> list[tuple[str, str, int | None]]:
    return [
        (found.replica, found.finding.kind, found.finding.offset)
        for found in verdict.findings
        if found.finding.severity is Severity.ERROR
    ]


@settings(max_examples=EXAMPLES, deadline=None)
@given(originals(), st.data())
def test_whatever_the_cleaner_did_is_no_more_than_compaction(original: Original, data: st.DataObject) -> None:
    left, right = data.draw(cleaned_copies(original)), data.draw(cleaned_copies(original))
    verdict = judged((left, left.batches()), (right, right.batches()))
    assert errors(verdict) == []
    assert set(verdict.verdicts) <= {Verdict.COMPACTION, Verdict.LAGGING, Verdict.IDENTICAL}


@settings(max_examples=EXAMPLES, deadline=None)
@given(originals(), st.data())
def test_a_record_that_the_cleaner_should_have_kept(original: Original, data: st.DataObject) -> None:
    left, right = data.draw(cleaned_copies(original, whole=True)), data.draw(cleaned_copies(original, whole=True))
    last = {
        entry.key: entry
        for batch in original.batches
        for entry in batch
        if not entry.is_aborted and not entry.is_marker
    }
    kept = {entry.offset for batch in left.batches() for entry in batch}
    lost = [
        each for each in last.values() if each.offset < right.point and each.value is not None and each.offset in kept
    ]
    assume(lost)
    entry = data.draw(st.sampled_from(lost))
    batches = [tuple(each for each in batch if each != entry) for batch in right.batches()]
    verdict = judged((left, left.batches()), (right, batches))
    assert errors(verdict) == [("broker-2", "offsets-missing", entry.offset)]
    assert Verdict.MISSING in verdict.verdicts


@settings(max_examples=EXAMPLES, deadline=None)
@given(originals(), st.data())
def test_another_value_under_the_same_offset(original: Original, data: st.DataObject) -> None:
    left, right = data.draw(cleaned_copies(original, whole=True)), data.draw(cleaned_copies(original, whole=True))
    kept = {entry.offset for batch in left.batches() for entry in batch if not entry.is_marker}
    both = [entry for batch in right.batches() for entry in batch if entry.offset in kept]
    assume(both)
    entry = data.draw(st.sampled_from(both))
    changed = replace(entry, value=b"other")
    batches = [tuple(changed if each == entry else each for each in batch) for batch in right.batches()]
    verdict = judged((left, left.batches()), (right, batches))
    assert verdict.verdict is Verdict.SILENT_DIVERGENCE
    assert set(errors(verdict)) == {
        (replica, "silent-divergence", entry.offset) for replica in ("broker-1", "broker-2")
    }


def test_a_deletion_that_is_gone_while_the_deleted_value_is_not() -> None:
    value, deletion, other = Entry(0, b"a", b"1"), Entry(1, b"a", None), Entry(2, b"b", b"1")
    original = Original(((value,), (deletion,), (other,)))
    sound = Cleaned(original, 2, keep_tombstones=True, keep_empty=False, count=3)
    verdict = judged((sound, ((), (deletion,), (other,))), (sound, ((value,), (), (other,))))
    assert Verdict.MISSING in verdict.verdicts
    assert errors(verdict) == [("broker-2", "offsets-missing", 1)]
    gone = judged((sound, ((), (deletion,), (other,))), (sound, ((), (), (other,))))
    assert gone.verdicts == (Verdict.COMPACTION,)


def test_what_may_have_given_way_to_records_that_the_other_copy_does_not_have_yet() -> None:
    older, newer, other = Entry(0, b"a", b"1"), Entry(1, b"a", b"2"), Entry(2, b"b", b"1")
    original = Original(((older,), (newer,), (other,)))
    ahead = Cleaned(original, 2, keep_tombstones=True, keep_empty=False, count=3)
    behind = Cleaned(original, 0, keep_tombstones=True, keep_empty=False, count=1)
    verdict = judged((ahead, ahead.batches()), (behind, behind.batches()))
    assert errors(verdict) == []
    assert verdict.verdicts == (Verdict.LAGGING, Verdict.COMPACTION)


def test_an_aborted_transaction_that_has_not_ended_in_the_copy_that_is_behind() -> None:
    undone, marker, other = (
        Entry(0, b"a", b"1", ABORT),
        Entry(1, ABORT, bytes(6), ABORT, is_marker=True),
        Entry(2, b"b", b"1"),
    )
    original = Original(((undone,), (marker,), (other,)))
    behind = Cleaned(original, 0, keep_tombstones=True, keep_empty=False, count=1)
    ahead = Cleaned(original, 1, keep_tombstones=True, keep_empty=False, count=3)
    assert ahead.batches() == ((), (marker,), (other,))
    verdict = judged((behind, behind.batches()), (ahead, ahead.batches()))
    assert errors(verdict) == []
    assert verdict.verdicts == (Verdict.LAGGING, Verdict.COMPACTION)


def test_a_deletion_in_a_transaction_whose_commit_the_copy_that_is_behind_does_not_have_yet() -> None:
    value = Entry(0, b"a", b"1")
    deletion, marker = Entry(1, b"a", None, COMMIT), Entry(2, COMMIT, bytes(6), COMMIT, is_marker=True)
    other = Entry(3, b"b", b"1")
    original = Original(((value,), (deletion,), (marker,), (other,)))
    behind = Cleaned(original, 0, keep_tombstones=True, keep_empty=False, count=2)
    ahead = Cleaned(original, 2, keep_tombstones=False, keep_empty=False, count=4)
    assert ahead.batches() == ((), (), (marker,), (other,))
    verdict = judged((behind, behind.batches()), (ahead, ahead.batches()))
    assert errors(verdict) == []
    assert verdict.verdicts == (Verdict.LAGGING, Verdict.COMPACTION)


def test_records_that_are_too_much_to_be_decompressed_at_once_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codecs, "decompression_limit", lambda _: 0)
    first, second, other = Entry(0, b"a", b"1"), Entry(1, b"b", b"1"), Entry(2, b"c", b"1")
    original = Original(((first, second), (other,)))
    copy = Cleaned(original, 2, keep_tombstones=True, keep_empty=False, count=2)
    assert errors(judged((copy, copy.batches()), (copy, ((first,), (other,))))) == [("broker-2", "offsets-missing", 1)]
    changed = (first, replace(second, value=b"2"))
    verdict = judged((copy, copy.batches()), (copy, (changed, (other,))))
    assert set(errors(verdict)) == {(replica, "silent-divergence", 1) for replica in ("broker-1", "broker-2")}


def test_more_records_than_fit_are_compared_by_shares_of_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacted, "RECORDS_AT_ONCE", 2)
    entries = [Entry(n, bytes([n % 5]), bytes([n])) for n in range(20)]
    original = Original(tuple((entry,) for entry in entries))
    copies = [Cleaned(original, point, keep_tombstones=True, keep_empty=False, count=20) for point in (0, 15)]
    assert judged(*((copy, copy.batches()) for copy in copies)).verdicts == (Verdict.COMPACTION,)
    lossy = [batch if batch != (entries[14],) else () for batch in copies[1].batches()]
    assert errors(judged((copies[0], copies[0].batches()), (copies[1], lossy))) == []  # a later one says more
    lossy = [batch if batch != (entries[12],) else () for batch in copies[1].batches()]
    verdict = judged((copies[0], copies[0].batches()[:15]), (copies[1], lossy[:15]))
    assert errors(verdict) == [("broker-2", "offsets-missing", 12)]
