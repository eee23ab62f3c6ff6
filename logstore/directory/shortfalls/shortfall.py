"""What a log lacks of what its root's checkpoint files, or others, say of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from logstore.errors import DamagedLogError
from logstore.file_name import FileFate, FileKind, parse_file_name
from logstore.files.broker.kept_claims import Claims
from logstore.log.log import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A log that was cut, emptied, replaced by an older copy, or is gone: it is not what others take it for."""

    directory: Path
    """Of the partition."""
    claims: Claims
    first_offset: int | None
    """Where the log's first segment begins."""
    log_end_offset: int | None
    """Both None where the directory is gone. Where a sound log would end, of one that is damaged."""
    damage: DamagedLogError | None = None
    """Of a log that is held back: it is cut there, and all behind it is set aside, as it is settled."""
    evidence: str = ""
    """The evidence that a log that is gone was there, though no checkpoint file has it: its claims are not known."""

    @classmethod
    def of(cls, log: Log, claims: Claims) -> Self | None:
        """Return what an open log lacks; None where it has all that is said of it."""
        first, end = log.segments[0].base_offset, log.log_end_offset
        short = cls(directory=log.directory, claims=claims, first_offset=first, log_end_offset=end)
        lacks_start = short.lacks_start and not log.config.remote_storage_enable  # which has what is not here
        return short if end < claims.end or lacks_start else None

    @classmethod
    def of_damaged(cls, directory: Path, claims: Claims, damage: DamagedLogError) -> Self:
        """Return what a log lacks that is damaged below its recovery point. Raises OSError."""
        names = (parse_file_name(path.name) for path in directory.iterdir())
        segments = (each for each in names if each.kind is FileKind.LOG and each.fate is FileFate.LIVE)
        first = min((each.base_offset or 0 for each in segments), default=None)
        return cls(
            directory=directory, claims=claims, first_offset=first, log_end_offset=damage.offset or 0, damage=damage
        )

    @classmethod
    def of_gone(cls, directory: Path, claims: Claims) -> Self | None:
        """Return what a partition lacks whose directory is gone; None where it is not known to have had anything."""
        short = cls(directory=directory, claims=claims, first_offset=None, log_end_offset=None)
        return short if claims.end > 0 else None

    @classmethod
    def of_vanished(cls, directory: Path, evidence: str) -> Self:
        """Return what a partition lacks that is gone with all that spoke of it here."""
        return cls(directory=directory, claims=Claims(), first_offset=None, log_end_offset=None, evidence=evidence)

    @property
    def is_gone(self) -> bool:
        """Whether there is no directory any more."""
        return self.log_end_offset is None

    @property
    def lacks_start(self) -> bool:
        """Whether the first segments are gone."""
        first, start = self.first_offset, self.claims.log_start_offset
        return first is not None and start is not None and first > start

    @property
    def lacks_flushed(self) -> bool:
        """Whether records are gone that were on stable storage; what was not may be gone by a loss of power.

        Of a log without claims that is not known: it counts as one that had some.
        """
        flushed = max(self.claims.recovery_point, self.claims.log_start_offset or 0)
        return bool(self.evidence) or self.lacks_start or (self.log_end_offset or 0) < flushed

    def __str__(self) -> str:
        if self.evidence:
            return f"{self.directory} is gone, and no checkpoint file says how far it reached: {self.evidence}"
        if self.is_gone:
            has = "is gone"
        elif self.damage is not None:
            file = Path(self.damage.file or "").name
            where = f"in {file} at position {self.damage.position:,}"
            has = f"is damaged from offset {self.log_end_offset:,} on, {where} ({self.damage.what})"
        elif self.lacks_start:
            has = f"begins at offset {self.first_offset:,}"
        else:
            has = f"ends at offset {self.log_end_offset:,}"
        claims = self.claims
        said = f"the recovery point {claims.recovery_point:,} and the high watermark {claims.high_watermark:,}"
        start = "" if claims.log_start_offset is None else f", the log start {claims.log_start_offset:,}"
        return f"{self.directory} {has}, but the checkpoint files said {said}{start}"
