"""Random partitions of which it is known what became of each offset: what was lost, and what only looks like it.

The files are written byte by byte; what a consumer is given of them is found record by record.
"""

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from epoch.checkpoint import format_checkpoint
from logstore import Codec
from logstore.batch.control import ControlType, control_key
from replication.explain import Why
from tests.logstore.batches import CONTROL, TRANSACTIONAL, batch, record

TOPIC = "t"
PARTITION = f"{TOPIC}-0"
PLAIN, DATA, MARKER = range(3)
GIVEN = {Why.DELIVERED, Why.UNREADABLE}
"""What consumers come to."""


@dataclass(eq=False)
class Part:
    """A batch as a leader wrote it."""

    base: int
    keys: list[bytes]
    epoch: int
    kind: int = PLAIN
    producer: int = -1
    producer_epoch: int = -1
    sequence: int = -1
    commits: bool = False
    removed: set[int] = field(default_factory=set)
    """Offsets that the cleaner took."""
    is_gone: bool = False
    """Whether the cleaner left nothing of it."""
    is_damaged: bool = False
    is_unreadable: bool = False
    """Whether its checksum covers what nobody can decompress."""

    @property
    def end(self) -> int:
        return self.base + len(self.keys)

    @property
    def kept(self) -> list[int]:
        return [offset for offset in range(self.base, self.end) if offset not in self.removed]

    def encoded(self) -> bytes:
        if self.kind == MARKER:
            key = control_key(ControlType.COMMIT if self.commits else ControlType.ABORT)
            records = [record(key=key, value=bytes(6))]
        else:
            records = [
                record(offset_delta=offset - self.base, key=self.keys[offset - self.base], value=b"v%d" % offset)
                for offset in self.kept
            ]
        codec = Codec.GZIP if self.is_unreadable else Codec.NONE
        content = batch(
            base_offset=self.base,
            leader_epoch=self.epoch,
            records=records,
            last_offset_delta=self.end - self.base - 1,
            attributes=(0, TRANSACTIONAL, TRANSACTIONAL | CONTROL)[self.kind] | codec,
            producer_id=self.producer,
            producer_epoch=self.producer_epoch,
            base_sequence=self.sequence,
        )
        return content[:-1] + bytes([content[-1] ^ 0xFF]) if self.is_damaged else content


class RandomLog:
    """A leader's log, perhaps with a losing copy, a follower, and what a mirror kept."""

    def __init__(self, rng: random.Random, directory: Path) -> None:
        self.rng = rng
        self.directory = directory
        self.parts: list[Part] = []
        self.epochs: list[tuple[int, int]] = [(0, 0)]
        self.open_from: int | None = None
        self._live(rng.randint(8, 60))
        self.written_end = self.end = self.parts[-1].end
        self.history = list(self.parts)
        """All that leaders wrote, of which the log keeps `parts`."""
        self.segments = self._segments()
        self.cleaned_to = 0
        self.is_checkpointed = rng.random() < 0.5
        self.log_start = self.local_start = 0
        self.is_remote = False
        """Whether what lies from `log_start` to `local_start` is in remote storage."""
        self.has_remote: bool | None = None
        """What the caller says of that."""
        self.high_watermark: int | None = None
        self.branch: list[Part] = []
        self.branch_epoch = -1
        self.cut_by = -1
        self.is_kept_file = rng.random() < 0.3
        self.follower_to: int | None = None
        self.sources: list[Path] = []

    def make(self) -> None:
        """Let things happen to it, and write the files."""
        rng = self.rng
        if rng.random() < 0.5:
            self._fork()
        if rng.random() < 0.4:
            self._compact()
        if rng.random() < 0.4:
            self.follower_to = rng.choice([part.end for part in self.history])
        self._lose()
        if rng.random() < 0.4:
            self._expire()
        self.has_remote = rng.choice([None, self.is_remote])
        self._write()

    def truth(self, *, committed_only: bool) -> list[Why]:
        """What became of each offset, up to the last that anything speaks of."""
        reached = max([self.end, self.high_watermark or 0, *(part.end for part in self.branch)])
        truth = [Why.MISSING] * reached
        for part in self.history:
            for offset in part.removed:
                truth[offset] = Why.COMPACTED
        for part in self.branch:
            for offset in range(max(part.base, self.end), part.end):
                truth[offset] = Why.TRUNCATED
        for offset, why in self._consumed(committed_only=committed_only):
            truth[offset] = why
        truth[: self.log_start] = [Why.EXPIRED] * self.log_start
        truth[self.log_start : self.local_start] = [Why.REMOTE] * (self.local_start - self.log_start)
        return truth

    def planted(self, truth: Sequence[Why]) -> dict[Why, int]:
        """How many losses there are, and how many things that only look like one."""
        counts: dict[Why, int] = {}
        for why, _ in groupby(truth):
            counts[why] = counts.get(why, 0) + (why is not Why.DELIVERED)
        return counts

    def _consumed(self, *, committed_only: bool) -> Iterator[tuple[int, Why]]:
        """Consume what is left, record by record."""
        fates = self._fates(committed_only=committed_only)
        stable = min((part.base for part, why in fates.items() if why is Why.OPEN), default=self.end)
        for part, why in fates.items():
            for offset in part.kept:
                yield offset, Why.OPEN if why in GIVEN and offset >= stable else why

    def _fates(self, *, committed_only: bool) -> dict[Part, Why]:
        """What becomes of each batch that is left."""
        ends: dict[int, list[tuple[int, bool]]] = {}
        read = [part for part in self.parts if not part.is_damaged and not part.is_gone]
        for part in read:
            if part.kind == MARKER:
                ends.setdefault(part.producer, []).append((part.base, part.commits))
        fates: dict[Part, Why] = {}
        for part in read:
            read_as = Why.UNREADABLE if part.is_unreadable else Why.DELIVERED
            fates[part] = Why.CONTROL if part.kind == MARKER else read_as
            if part.kind == DATA and committed_only:
                decided = next((commits for at, commits in ends.get(part.producer, ()) if at > part.base), None)
                fates[part] = {None: Why.OPEN, True: read_as, False: Why.ABORTED}[decided]
        return fates

    def _live(self, steps: int) -> None:
        rng, begun, offset, epoch = self.rng, set[int](), 0, 0
        sequences: dict[int, tuple[int, int]] = {}
        for _ in range(steps):
            if rng.random() < 0.1:
                epoch += rng.randint(1, 2)
                self.epochs.append((epoch, offset))
            producer = rng.choice([-1, -1, 3, 4, 7, 8, 9])
            keys = [b"k%d" % rng.randrange(6) for _ in range(rng.choice([1, 1, 2, 3, 5]))]
            part = Part(offset, keys, epoch)
            if producer in begun and rng.random() < 0.5:
                part = Part(offset, [b""], epoch, MARKER, producer, 0, commits=rng.random() < 0.5)
                begun.remove(producer)
            elif producer >= 0:
                known, sequence = sequences.get(producer, (0, 0))
                if producer < 7 and rng.random() < 0.2:
                    known, sequence = known + 1, 0  # an idempotent producer begins an epoch of its own
                part.producer, part.producer_epoch, part.sequence = producer, known, sequence
                sequences[producer] = known, sequence + len(keys)
                if producer >= 7:
                    part.kind = DATA
                    begun.add(producer)
            self.parts.append(part)
            offset = part.end
        for producer in sorted(begun):
            if rng.random() < 0.7:
                self.parts.append(Part(offset, [b""], epoch, MARKER, producer, 0, commits=rng.random() < 0.5))
                offset += 1
        if rng.random() < 0.1:
            self.epochs.append((epoch + 1, offset))
        self.epochs = [
            (e, start) for e, start in self.epochs if (e, start) == max(x for x in self.epochs if x[1] == start)
        ]

    def _segments(self) -> list[int]:
        """The base offsets of segments."""
        chosen = {part.base for part in self.parts if self.rng.random() < 0.15}
        return sorted({0, *chosen})

    def _fork(self) -> None:
        """Another leader wrote records that a later one did not have."""
        forks = [(epoch, start) for epoch, start in self.epochs if start > 0]
        if not forks:
            return
        self.cut_by, fork = self.rng.choice(forks)
        before = max(epoch for epoch, start in self.epochs if start < fork)
        self.branch_epoch = self.rng.randint(before, self.cut_by - 1)
        offset = fork
        end = self.written_end * self.rng.choice([0, 1, 1])
        while offset <= end or self.rng.random() < 0.7:
            part = Part(offset, [b"branch"] * self.rng.randint(1, 5), self.branch_epoch)
            self.branch.append(part)
            offset = part.end

    def _compact(self) -> None:
        """The cleaner goes over the first segments, as far as no transaction is open."""
        stable = min(
            (offset for offset, why in self._consumed(committed_only=True) if why is Why.OPEN), default=self.end
        )
        ends = [base for base in self.segments if 0 < base <= stable]
        if not ends:
            return
        self.cleaned_to = self.rng.choice(ends)
        cleaned = [part for part in self.parts if part.base < self.cleaned_to]
        fates = dict(self._consumed(committed_only=True))
        latest = {
            part.keys[offset - part.base]: offset
            for part in cleaned
            for offset in part.kept
            if fates[offset] is Why.DELIVERED
        }
        for part in cleaned:
            if part.kind == MARKER:
                continue
            part.removed = {
                offset
                for offset in part.kept
                if fates[offset] is Why.ABORTED or latest[part.keys[offset - part.base]] > offset
            }
            part.is_gone = not part.kept and self.rng.random() < 0.7
        if not self.is_checkpointed:
            self._forget_what_no_batch_shows(cleaned)

    def _forget_what_no_batch_shows(self, cleaned: list[Part]) -> None:
        """Without a checkpoint, as in a mirror, only batches with fewer records than offsets tell of the cleaner."""
        traces = [number for number, part in enumerate(cleaned) if part.removed and not part.is_gone]
        for part in cleaned[traces[-1] + 1 if traces else 0 :]:
            part.removed, part.is_gone = set(), False
        self.cleaned_to = cleaned[traces[-1]].end if traces else 0

    def _lose(self) -> None:
        """Lose batches, each in one of several ways."""
        for _ in range(self.rng.choice([0, 2, 3, 4, 6])):
            way = self.rng.choice(
                [
                    self._lose_batches,
                    self._damage,
                    self._make_unreadable,
                    self._lose_segment,
                    self._lose_tail,
                    self._lose_key,
                ]
            )
            way()
        last = self.parts[-1]
        self.end = last.end

    def _may_go(self) -> list[Part]:
        """What the cleaner has not been over, and is not the last batch."""
        return [part for part in self.parts[:-1] if part.base >= self.cleaned_to]

    def _lose_batches(self) -> None:
        candidates = self._may_go()
        if candidates:
            at = self.rng.randrange(len(candidates))
            for part in candidates[at : at + self.rng.randint(1, 4)]:
                self.parts.remove(part)

    def _damage(self) -> None:
        if (candidates := self._may_go()) and not self.cleaned_to:
            self.rng.choice(candidates).is_damaged = True

    def _make_unreadable(self) -> None:
        candidates = [part for part in self._may_go() if part.kind != MARKER]
        if candidates and self.follower_to is None:
            self.rng.choice(candidates).is_unreadable = True

    def _lose_segment(self) -> None:
        bases = [base for base in self.segments[1:-1] if base >= self.cleaned_to]
        if not bases:
            return
        base = self.rng.choice(bases)
        end = self.segments[self.segments.index(base) + 1]
        lost = [part for part in self.parts if base <= part.base < end]
        if len(lost) < len(self.parts) and self.parts[-1] not in lost:
            self.parts = [part for part in self.parts if part not in lost]
            self.segments.remove(base)

    def _lose_tail(self) -> None:
        """The log ends early; what it had noted as committed tells."""
        kept = [part for part in self.parts if part.base < self.cleaned_to or part.base <= self.segments[-1]]
        if not kept or self.branch or len(kept) == len(self.parts) or self.high_watermark is not None:
            return
        if self.parts[len(kept) - 1].base < self.segments[-1] or self.parts[len(kept) - 1].is_gone:
            return
        self.high_watermark = self.written_end
        self.parts = kept

    def _lose_key(self) -> None:
        """Lose the last record of a key where the cleaner was; a follower still has it.

        No transaction has a later one either: where its marker is lost too, nothing tells that it was aborted. And the
        cleaner has noted how far it got: else a later record may be among what is missing.
        """
        if self.follower_to is None or not self.is_checkpointed:
            return
        held = [
            part
            for part in self.parts
            if part.end <= min(self.cleaned_to, self.follower_to)
            and part.kind == PLAIN
            and part.kept
            and not part.removed
        ]
        later = {
            part.keys[offset - part.base]: offset
            for part in self.history
            for offset in range(part.base, min(part.end, self.cleaned_to))
        }
        lost = [part for part in held if all(later[key] == part.base + at for at, key in enumerate(part.keys))]
        if lost:
            self.parts.remove(self.rng.choice(lost))

    def _expire(self) -> None:
        """Retention, or somebody who deletes records, moves the log's start, or only the start of what is here."""
        opened = [part.base for part, why in self._fates(committed_only=True).items() if why is Why.OPEN]
        limit = max(min([*opened, self.end - 1]), 0)
        self.log_start = self.local_start = self.rng.randint(0, limit)
        self.is_remote = not self.cleaned_to and self.rng.random() < 0.5  # no compacted topic has remote storage
        if self.is_remote:
            self.local_start = self.rng.choice([base for base in self.segments if base <= limit])
            self.log_start = self.rng.randint(0, self.local_start)

    def _write(self) -> None:
        root = self.directory / "broker-1"
        is_stale = self.has_remote is False and self.rng.random() < 0.5
        epochs = self.epochs if is_stale else _from_start(self.epochs, self.log_start)
        self._write_copy(root, [part for part in self.parts if not part.is_gone], self.segments, epochs)
        live = [base for base in self.segments if base <= self.local_start]
        for base in live[:-1]:
            (root / PARTITION / f"{base:020d}.log").unlink()
        is_plain = self.log_start == live[-1] and not self.is_remote
        is_alone = self.is_remote and self.high_watermark is None and self.rng.random() < 0.5
        if not is_alone and (not is_plain or (self.log_start and self.rng.random() < 0.5)):
            _checkpoint(root, "log-start-offset-checkpoint", self.log_start)
        if self.high_watermark is not None:
            _checkpoint(root, "replication-offset-checkpoint", self.high_watermark)
        if self.cleaned_to and self.is_checkpointed:
            _checkpoint(root, "cleaner-offset-checkpoint", self.cleaned_to)
        self.sources.append(root)
        whole = [
            Part(p.base, p.keys, p.epoch, p.kind, p.producer, p.producer_epoch, p.sequence, p.commits)
            for p in self.history
        ]
        if self.follower_to is not None:
            followed = [part for part in whole if part.end <= self.follower_to]
            self._write_copy(self.directory / "broker-2", followed, [0], _epochs_of(followed))
            self.sources.append(self.directory / "broker-2")
        if self.branch and self.is_kept_file:
            kept = self.directory / "kept" / PARTITION
            kept.mkdir(parents=True)
            name = f"{self.branch[0].base:020d}-epoch{self.cut_by}-20261121T163614.123Z.log"
            (kept / name).write_bytes(b"".join(part.encoded() for part in self.branch))
            self.sources.append(self.directory / "kept")
        elif self.branch:
            lost = [part for part in whole if part.end <= self.branch[0].base] + self.branch
            self._write_copy(self.directory / "broker-3", lost, [0], _epochs_of(lost))
            self.sources.append(self.directory / "broker-3")

    def _write_copy(
        self, root: Path, parts: Sequence[Part], segments: Sequence[int], epochs: Sequence[tuple[int, int]]
    ) -> None:
        directory = root / PARTITION
        directory.mkdir(parents=True)
        for number, base in enumerate(segments):
            end = segments[number + 1] if number + 1 < len(segments) else 2**63
            content = b"".join(part.encoded() for part in parts if base <= part.base < end)
            (directory / f"{base:020d}.log").write_bytes(content)
        (directory / "leader-epoch-checkpoint").write_bytes(format_checkpoint(list(epochs)))
        (root / ".kafka_cleanshutdown").touch()

    def remove(self) -> None:
        shutil.rmtree(self.directory)


def _epochs_of(parts: Sequence[Part]) -> list[tuple[int, int]]:
    epochs: dict[int, int] = {}
    for part in parts:
        epochs.setdefault(part.epoch, part.base)
    return list(epochs.items())


def _from_start(epochs: Sequence[tuple[int, int]], start: int) -> list[tuple[int, int]]:
    """Return what a broker keeps of them once it has moved the log's start, which it may lose in a crash."""
    first = max(epoch for epoch, begins in epochs if begins <= start)
    return [(first, start), *((epoch, begins) for epoch, begins in epochs if begins > start)]


def _checkpoint(root: Path, name: str, offset: int) -> None:
    (root / name).write_bytes(format_checkpoint([(TOPIC, 0, offset)]))
