"""What an audit over the network has found so far, in a file: after an interruption it goes on behind that."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, Self

from logstore.topic_partition import TopicPartition
from replication.base.errors import NotAllowedError
from replication.copies.audit.local.live_look import LiveLook
from replication.copies.audit.snapshots.work import Job

VERSION: Final = 1
_LARGE: Final = ("summary", "digests", "piece")
"""Columns of rows that only comparing takes."""


@dataclass(slots=True)
class AuditState:
    """A line for each partition of which all is known, behind one that says which audit it is."""

    path: Path
    found: Mapping[TopicPartition, LiveLook]
    """What an earlier run has written."""
    _file: IO[str] = field(repr=False)

    @classmethod
    def open(cls, path: Path, audit: Mapping[str, Any]) -> Self:
        """Open a file, or begin one; `audit` says which audit it is, as JSON has it.

        Raises NotAllowedError where the file is of another audit or none, and OSError.
        """
        about = json.loads(json.dumps({"state_version": VERSION, **audit}))
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]  # the last one may not have been written whole
        if not whole:
            path.write_text(f"{json.dumps(about)}\n", encoding="utf-8")
            return cls(path, {}, path.open("a", encoding="utf-8"))
        if _parsed(whole[0]) != about:
            allowed = "a new file, or one of an audit of this cluster with the same options that was interrupted"
            raise NotAllowedError("state", str(path), allowed)
        found = dict(_looks(whole[1:]))
        if len(whole) < len(lines):
            path.write_bytes(b"".join(whole))
        return cls(path, found, path.open("a", encoding="utf-8"))

    def note(self, partition: TopicPartition, look: LiveLook) -> None:
        """Write what was found in a partition. Raises OSError."""
        rows = [[job.to_json(), {**row, **dict.fromkeys(_LARGE)}] for job, row in look.rows.items()]
        json.dump({"partition": [*partition], "rows": rows, "judged": look.judged}, self._file)
        self._file.write("\n")
        self._file.flush()

    def close(self, *, is_done: bool) -> None:
        """Close the file, and remove it once there is nothing left to do: the next audit reads everything again."""
        self._file.close()
        if is_done:
            with suppress(OSError):
                self.path.unlink()


def _looks(lines: list[bytes]) -> Iterator[tuple[TopicPartition, LiveLook]]:
    for line in lines:
        told = _parsed(line)
        if told is not None:
            rows = {Job.from_json(job): row for job, row in told["rows"]}
            yield TopicPartition(*told["partition"]), LiveLook(rows, told["judged"])


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
