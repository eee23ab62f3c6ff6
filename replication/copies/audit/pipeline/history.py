"""The directory in which audits of one cluster keep what they found and read, for the next one."""

import re
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from replication.base.errors import HistoryError
from replication.copies.audit.examination.kept.header_cache import header_file_of
from replication.copies.audit.examination.kept.kept_file import remove_others
from replication.copies.audit.examination.kept.known_verdicts import verdict_file_of
from replication.copies.audit.examination.kept.rotation import Rotation
from replication.copies.audit.examination.kept.standing_copy import standing_file_of
from replication.copies.audit.judgement.run import Run
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy

_NAME: Final = re.compile(r"audit-(\d+)\.json")
_MOST_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class History:
    """One file a run, and below `headers` and `verdicts` what is known of each copy, and of each partition."""

    place: Storage

    @classmethod
    def at(cls, directory: str | Path) -> Self:
        """Use a directory, which need not be there yet: a path, or a URI that pyarrow writes to."""
        return cls(Storage(str(directory)).absolute())

    @property
    def headers(self) -> Storage:
        """Where the headers of segments are kept."""
        return self.place.child("headers")

    @property
    def verdicts(self) -> Storage:
        """Where the verdicts of partitions are kept."""
        return self.place.child("verdicts")

    def latest_run(self) -> Run | None:
        """Read the last run; None where there is none yet.

        What another one at the same time has found first stands since then. Raises HistoryError where its file was not
        written by an audit, or cannot be read.
        """
        *earlier, last = self._names() or [""]
        if not last:
            return None
        latest = self._read(last)
        for name in reversed(earlier):
            try:
                other = self._read(name)
            except HistoryError:
                break
            if not other.overlaps(latest):
                break
            latest = latest.with_since_of(other)
        return latest

    def runs(self, most: int) -> tuple[list[Run], list[HistoryError]]:
        """Read the last runs, the oldest first, and what is wrong with files that cannot be read.

        Raises HistoryError where the directory cannot be listed.
        """
        runs, errors = [], []
        for name in self._names()[-most:]:
            try:
                runs.append(self._read(name))
            except HistoryError as error:
                errors.append(error)
        return runs, errors

    def rotation(self, runs: int) -> Rotation:
        """Return the place of the next run among those of which each `runs` read everything. Raises HistoryError."""
        names = self._names()
        first = names[-(runs - 1)] if 1 < runs <= len(names) + 1 else None
        return Rotation(runs, len(names), _began_ms(first) if first else 0)

    def _names(self) -> list[str]:
        """List the files of runs, the oldest first."""
        try:
            files = self.place.stored_files()
        except OSError as error:
            raise HistoryError(self.place.shown, str(error)) from error
        names = (name for name in files if _NAME.fullmatch(name))
        return sorted(names, key=lambda name: (len(name), name))

    def _read(self, name: str) -> Run:
        try:
            data = self.place.read(name, _MOST_BYTES)
        except OSError as error:
            raise HistoryError(self.place.shown, str(error)) from error
        try:
            return Run.from_bytes(data)
        except ValueError as error:
            raise HistoryError(f"{self.place.shown}/{name}", str(error)) from error

    def keep(self, run: Run) -> None:
        """Add a run, in a file of its own that is whole or not there. Raises OSError."""
        began_ms, there = int(run.metrics["time"] * 1000), set(self.place.stored_files())
        while _name(began_ms) in there:  # another scheduler's began in the same millisecond
            began_ms += 1
        self.place.write(_name(began_ms), run.to_bytes())

    def forget_others(self, copies: Collection[Copy]) -> None:
        """Remove what is kept of copies, and of partitions, that are not among these. Raises OSError."""
        now = time.time_ns()
        remove_others(self.headers, [each(copy) for copy in copies for each in (header_file_of, standing_file_of)], now)
        remove_others(self.verdicts, [verdict_file_of(each) for each in {copy.topic_partition for copy in copies}], now)


def _name(began_ms: int) -> str:
    return f"audit-{began_ms}.json"


def _began_ms(name: str) -> int:
    return int(_NAME.sub(r"\1", name))
