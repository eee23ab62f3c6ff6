"""One of three equal copies is altered, a field or a file at a time: what shows, and in which copy."""

import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from epoch.checkpoint import format_checkpoint
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify.root_check import check_root
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.examination.examination import examine
from replication.copies.audit.judgement.committed_records import COMMITTED_RECORDS_LOST
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.judgement.verdict import PartitionVerdict, Verdict
from tests.data.replicas import replicas
from tests.logstore.verify.test_damage_matrix import CHANGES, TXNS, Change, add, batches, copy, sign
from tests.replication.copies.audit.copies import copy_of

ALTERED, OTHERS = "broker-2", ("broker-1", "broker-3")
IDENTICAL, RETENTION, LAGGING = Verdict.IDENTICAL, Verdict.RETENTION, Verdict.LAGGING
MISSING, FORKED, DAMAGED, SILENT = Verdict.MISSING, Verdict.FORKED, Verdict.DAMAGED, Verdict.SILENT_DIVERGENCE

UNSEEN = {
    "time index: timestamp +1": "an index is no replica's but the broker's own, and may name a later time",
    "time index: offset": "as above: of several records with the same largest time it may name any",
    "epochs: start of entry 0 -1": "the first entry follows the log's start, and lags behind it on each broker",
    "replication-offset-checkpoint: offset -1": "each broker learns of commits at times of its own",
    "log-start-offset-checkpoint: offset +1": "retention has its time on each broker: the verdict says so",
}
"""By the beginning of the change's name, why not even other replicas contradict it."""


@dataclass(frozen=True)
class Audited:
    """What the audit says of the partition, and of the altered root."""

    verdict: PartitionVerdict
    own_kinds: tuple[str, ...]

    @property
    def kinds(self) -> set[str]:
        return {*self.own_kinds, *(found.finding.kind for found in self.verdict.findings)}


def examined(root: Path, partition: str, replica: str) -> tuple[ExaminedCopy, list[str]]:
    directory = OfflineLogDirectory.open(root).open_partition(partition)
    examination = examine(directory, replica, records=True)
    return copy_of(directory, examination), [found.finding.kind for found in examination.findings]


def audited(untouched: Path, altered: Path, partition: str) -> Audited:
    """Audit a root that was altered beside two that were not, about which nothing bad may be said."""
    others = [examined(untouched, partition, name) for name in OTHERS]
    one, kinds = examined(altered, partition, ALTERED)
    kinds += [found.kind for found in check_root(OfflineLogDirectory.open(altered))]
    verdict = judge([one, *(other for other, _ in others)])
    assert [own for _, own in others] == [[], []]
    # Whoever has records that an altered copy of a later epoch lacks is not blamed, but told to keep them.
    blamed = [found for found in verdict.findings if found.finding.kind != COMMITTED_RECORDS_LOST]
    assert {found.replica for found in blamed if found.finding.severity.needs_attention} <= {ALTERED}
    for pair in verdict.pairs:
        assert ALTERED in {pair.leader, pair.follower} or pair.verdicts == (IDENTICAL,)
    return Audited(verdict, tuple(kinds))


@pytest.fixture(scope="module")
def transactions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with one partition, of transactions."""
    return copy(tmp_path_factory.mktemp("transactions"))


def reasons(name: str) -> list[str]:
    return [reason for beginning, reason in UNSEEN.items() if name.startswith(beginning)]


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_field_shows_and_where(name: str, transactions: Path, tmp_path: Path) -> None:
    altered = tmp_path / ALTERED
    shutil.copytree(transactions, altered)
    CHANGES[name](altered)
    found = audited(transactions, altered, TXNS)
    assert bool(found.kinds) == (not reasons(name)), found
    assert set(found.verdict.verdicts) != {IDENTICAL} or found.own_kinds or reasons(name)


def test_each_reason_is_for_a_change() -> None:
    assert {why for name in CHANGES for why in reasons(name)} == set(UNSEEN.values())


@dataclass(frozen=True)
class Damage:
    """A change to one partition of a whole root, and what has to be said of it at least."""

    partition: str
    change: Change
    verdicts: set[Verdict]
    kind: str | None
    """None where no finding can be: see `UNTOLD`."""


def log(root: Path, partition: str, number: int) -> Path:
    return sorted((root / partition).glob("*.log"))[number]


def drop_segment(partition: str, number: int) -> Change:
    def change(root: Path) -> None:
        base = log(root, partition, number).stem
        for file in (root / partition).glob(f"{base}.*"):
            file.unlink()

    return change


def edit(partition: str, number: int, edited: Callable[[bytes], bytes], *, drop_indexes: bool = True) -> Change:
    """Rewrite a segment's log. Its indexes go, so that they do not give the change away."""

    def change(root: Path) -> None:
        file = log(root, partition, number)
        file.write_bytes(edited(file.read_bytes()))
        for suffix in (".index", ".timeindex") if drop_indexes else ():
            file.with_suffix(suffix).unlink()

    return change


def without_batch(number: int) -> Callable[[bytes], bytes]:
    def edited(data: bytes) -> bytes:
        position, size = batches(data)[number]
        return data[:position] + data[position + size :]

    return edited


def twice(number: int) -> Callable[[bytes], bytes]:
    def edited(data: bytes) -> bytes:
        position, size = batches(data)[number]
        return data[: position + size] + data[position:]

    return edited


def in_other_order(number: int) -> Callable[[bytes], bytes]:
    def edited(data: bytes) -> bytes:
        (first, size), (second, second_size) = batches(data)[number : number + 2]
        return data[:first] + data[second : second + second_size] + data[first : first + size] + data[second + size :]

    return edited


def signed(number: int, at: int, form: str, by: int) -> Callable[[bytes], bytes]:
    def edited(data: bytes) -> bytes:
        changed = bytearray(data)
        position, size = batches(data)[number]
        add(changed, position + at, form, by)
        sign(changed, position, size)
        return bytes(changed)

    return edited


def renumbered(data: bytes, by: int, first: int = 0) -> bytes:
    """Shift the base offsets of the batches from `first` on, which no checksum covers."""
    changed = bytearray(data)
    for position, _ in batches(data)[first:]:
        add(changed, position, ">q", by)
    return bytes(changed)


def reign(partition: str, first: int, epoch: int, entries: list[tuple[int, int]]) -> Change:
    """Give the batches from number `first` on another epoch, and the checkpoint entries to match."""

    def edited(data: bytes) -> bytes:
        changed = bytearray(data)
        for position, _ in batches(data)[first:]:
            struct.pack_into(">i", changed, position + 12, epoch)
        return bytes(changed)

    def change(root: Path) -> None:
        edit(partition, 0, edited, drop_indexes=False)(root)
        (root / partition / "leader-epoch-checkpoint").write_bytes(format_checkpoint(entries))

    return change


def swap(one: str, other: str) -> Change:
    def change(root: Path) -> None:
        first, second = log(root, one, 0), log(root, other, 0)
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)

    return change


def resize(pattern: str, size: int) -> Change:
    def change(root: Path) -> None:
        for file in root.glob(pattern):
            file.write_bytes(file.read_bytes()[:size])

    return change


def remove(pattern: str) -> Change:
    def change(root: Path) -> None:
        for file in root.glob(pattern):
            file.unlink()

    return change


HARMLESS = {"high-watermark-beyond-fork", COMMITTED_RECORDS_LOST}
RECORD = 61 + 12
"""A byte within a batch's records, compressed or not."""
DAMAGES = {
    "a record's byte": Damage(
        "diverge-0", edit("diverge-0", 0, signed(1, RECORD, ">b", 1)), {SILENT}, "silent-divergence"
    ),
    "a record's byte, compressed": Damage(
        "codecs-0", edit("codecs-0", 1, signed(4, RECORD + 20, ">b", 1)), {SILENT}, "silent-divergence"
    ),
    "a record's byte below the cleaner's point": Damage(
        "compacted-0", edit("compacted-0", 0, signed(7, 200, ">b", 1)), {SILENT}, "silent-divergence"
    ),
    "a record's byte above the cleaner's point": Damage(
        "compacted-0", edit("compacted-0", 1, signed(7, 200, ">b", 1)), {SILENT}, "silent-divergence"
    ),
    "all timestamps of a batch": Damage(
        "diverge-0",
        edit("diverge-0", 0, lambda data: signed(2, 35, ">q", 7)(signed(2, 27, ">q", 7)(data))),
        {SILENT},
        "silent-divergence",
    ),
    "an epoch that began earlier, in batches and checkpoint": Damage(
        "diverge-0", reign("diverge-0", 2, 4, [(3, 0), (4, 185)]), {FORKED}, "epochs-contradict"
    ),
    "another epoch's number, in batches and checkpoint": Damage(
        "diverge-0", reign("diverge-0", 0, 2, [(2, 0), (6, 420)]), {FORKED}, None
    ),
    "the last segment": Damage(
        "compacted-0", drop_segment("compacted-0", -1), {LAGGING}, "high-watermark-beyond-log-end"
    ),
    "the first segment": Damage(
        "compacted-0", drop_segment("compacted-0", 0), {DAMAGED, MISSING}, "first-segment-missing"
    ),
    "a middle segment": Damage("orders-2", drop_segment("orders-2", 1), {DAMAGED}, "missing-segment"),
    "a batch": Damage("diverge-0", edit("diverge-0", 0, without_batch(2)), {MISSING}, "offset-gap"),
    "a batch below the cleaner's point": Damage(
        "compacted-0", edit("compacted-0", 0, without_batch(12)), {MISSING}, "offsets-missing"
    ),
    "a batch above the cleaner's point": Damage(
        "compacted-0", edit("compacted-0", 1, without_batch(12)), {MISSING}, "offsets-missing"
    ),
    "a transaction's marker": Damage(
        "txns-0", edit("txns-0", 1, without_batch(15)), {MISSING, DAMAGED}, "transaction-marker-missing"
    ),
    "the last batch": Damage(
        "diverge-0", edit("diverge-0", 0, without_batch(-1)), {LAGGING, DAMAGED}, "high-watermark-beyond-log-end"
    ),
    "a batch twice": Damage("diverge-0", edit("diverge-0", 0, twice(2)), {DAMAGED}, "duplicate-batch"),
    "two batches exchanged": Damage(
        "diverge-0", edit("diverge-0", 0, in_other_order(2)), {DAMAGED}, "offsets-go-backwards"
    ),
    "all offsets shifted": Damage(
        "diverge-0", edit("diverge-0", 0, lambda data: renumbered(data, 3)), {SILENT}, "silent-divergence"
    ),
    "the last offsets shifted": Damage(
        "diverge-0", edit("diverge-0", 0, lambda data: renumbered(data, 3, 3)), {SILENT}, "silent-divergence"
    ),
    "segments of two partitions exchanged": Damage(
        "diverge-0", swap("diverge-0", "hwloss-0"), {SILENT}, "silent-divergence"
    ),
    "an index cut short": Damage("codecs-0", resize("codecs-0/*400.index", 16), {IDENTICAL}, None),
    "no indexes": Damage("codecs-0", remove("codecs-0/*400.*index"), {IDENTICAL}, "index-missing"),
    "no epochs": Damage("codecs-0", remove("codecs-0/leader-epoch-checkpoint"), {DAMAGED}, "epoch-checkpoint-missing"),
    "no topic id": Damage("codecs-0", remove("codecs-0/partition.metadata"), {DAMAGED}, "topic-id-missing"),
    "no producer snapshot": Damage("codecs-0", remove("codecs-0/*.snapshot"), {IDENTICAL}, None),
    "no high watermarks": Damage("codecs-0", remove("replication-offset-checkpoint"), {IDENTICAL}, None),
    "no recovery points": Damage("codecs-0", remove("recovery-point-offset-checkpoint"), {IDENTICAL}, None),
    "no log starts": Damage(
        "codecs-0", remove("log-start-offset-checkpoint"), {DAMAGED, RETENTION}, "epoch-start-differs"
    ),
    "no cleaner's points": Damage("compacted-0", remove("cleaner-offset-checkpoint"), {DAMAGED}, "offset-gap"),
    "an unparsable checkpoint": Damage(
        "codecs-0", resize("replication-offset-checkpoint", 9), {IDENTICAL}, "checkpoint-unparsable"
    ),
}


UNTOLD = {
    "another epoch's number, in batches and checkpoint": "a producer that tries again writes the same batch to "
    "the next leader: only that the copies are forked can be told, not which epoch is made up",
    "an index cut short": "an index may leave out any batch",
    "no producer snapshot": "Kafka writes it anew from the log",
    "no high watermarks": "Kafka learns it anew from the leader",
    "no recovery points": "Kafka then looks at the whole log",
}
"""Why there is no finding."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole broker's root."""
    root = tmp_path_factory.mktemp("cluster") / "untouched"
    shutil.copytree(replicas("reconciled") / "broker-1", root)
    return root


@pytest.mark.parametrize("name", DAMAGES)
def test_other_damage_shows_and_where(name: str, cluster: Path, tmp_path: Path) -> None:
    damage, altered = DAMAGES[name], tmp_path / ALTERED
    shutil.copytree(cluster, altered)
    damage.change(altered)
    found = audited(cluster, altered, damage.partition)
    assert damage.verdicts <= set(found.verdict.verdicts), found
    assert (damage.kind is None) == (name in UNTOLD)
    assert damage.kind in found.kinds if damage.kind else found.kinds <= HARMLESS, found
