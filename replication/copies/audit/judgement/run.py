"""One audit as the next one needs to know it, and what is new in it."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from replication.base.json_object import Json
from replication.copies.audit.judgement.verdict import Verdict

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Run:
    """One audit, as the next one needs to know it."""

    metrics: dict[str, float]
    """With `time`, in seconds since 1970 UTC."""
    verdicts: dict[str, str]
    """By partition; those that are identical are left out."""
    findings: tuple[str, ...]

    @classmethod
    def of(cls, document: Json) -> Self:
        """Keep what matters of the object that `epochlog audit --json` prints."""
        verdicts = {
            f"{each['topic']}-{each['partition']}": each["verdict"]
            for each in document["partitions"]
            if each["verdict"] != Verdict.IDENTICAL
        }
        return cls(dict(document["metrics"]), verdicts, tuple(sorted({_line(each) for each in document["findings"]})))

    def of_partition(self, name: str) -> str:
        """Return a partition's verdict."""
        return self.verdicts.get(name, Verdict.IDENTICAL.value)

    def to_bytes(self) -> bytes:
        """Return the run as JSON, for a file."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1).encode() + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode a run from a file. Raises ValueError for anything else."""
        try:
            document = json.loads(data)
            if document["version"] != VERSION:
                raise ValueError(f"its version is {document['version']}, not {VERSION}")
            run = cls(document["metrics"], document["verdicts"], tuple(document["findings"]))
            float(run.metrics["time"])
        except (TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ValueError(f"it is no run of an audit: {error!r}") from error
        return run


@dataclass(frozen=True, slots=True)
class Changes:
    """What one run says and the one before did not, and the other way round."""

    since: float
    """When the run before was, in seconds since 1970 UTC."""
    new: tuple[str, ...]
    gone: tuple[str, ...]

    @classmethod
    def between(cls, before: Run, now: Run) -> Self:
        """Compare two runs."""
        changed = {
            name for name in before.verdicts | now.verdicts if before.of_partition(name) != now.of_partition(name)
        }
        worth_telling = sorted(changed & now.verdicts.keys())
        healed = sorted(changed - now.verdicts.keys())
        return cls(
            before.metrics["time"],
            (
                *(f"{name}: {now.of_partition(name)} (was {before.of_partition(name)})" for name in worth_telling),
                *sorted({*now.findings} - {*before.findings}),
            ),
            (
                *(f"{name}: {before.of_partition(name)} (now {Verdict.IDENTICAL})" for name in healed),
                *sorted({*before.findings} - {*now.findings}),
            ),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the changes as `epochlog audit --json` prints them."""
        return asdict(self)


def _line(finding: Json) -> str:
    """Name a finding by what stays the same while a log grows."""
    place = "" if finding["topic"] is None else f" in {finding['topic']}-{finding['partition']}"
    file = "" if finding["file"] is None else f", {finding['file']}"
    offset = "" if finding["offset"] is None else f", offset {finding['offset']}"
    return f"{finding['replica']}: {finding['severity']} {finding['kind']}{place}{file}{offset}"
