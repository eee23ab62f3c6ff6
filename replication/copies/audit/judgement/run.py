"""One audit as the next one needs to know it, and what is new in it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Self

from replication.base.json_object import Json
from replication.copies.audit.judgement.verdict import Verdict

VERSION: Final = 1
NOTE: Final = ": info "
"""In the lines of findings that only inform."""
MOVING: Final = frozenset(
    {
        "clean-shutdown-doubtful",
        "cleaner-beyond-log-end",
        "high-watermark-beyond-log-end",
        "metadata-beginning-lost",
        "producer-snapshots-missing",
        "recovery-point-beyond-log-end",
        "short-of-claims",
        "snapshot-differs",
        "log-start-beyond-log-end",
        "zero-tail",
    }
)
"""Findings about a whole copy, whose offset and file say how far its log reached when it was looked at."""


@dataclass(frozen=True, slots=True)
class Run:
    """One audit, as the next one needs to know it."""

    metrics: dict[str, float]
    """With `time`, in seconds since 1970 UTC."""
    verdicts: dict[str, str]
    """By partition; those that are identical are left out."""
    findings: tuple[str, ...]
    since: dict[str, float] = field(default_factory=dict)
    """By the name of each verdict and finding: when it was first there, and in all runs from then on."""

    @classmethod
    def of(cls, document: Json, before: Self | None = None) -> Self:
        """Keep what matters of the object that `epochlog audit --json` prints; `before` is the run before, if any."""
        verdicts = {
            f"{each['topic']}-{each['partition']}": each["verdict"]
            for each in document["partitions"]
            if each["verdict"] != Verdict.IDENTICAL
        }
        findings = tuple(sorted({_line(each) for each in document["findings"]}))
        known, now = before.since if before else {}, document["metrics"]["time"]
        since = {name: known.get(name, now) for name in _names(verdicts, findings)}
        return cls(dict(document["metrics"]), verdicts, findings, since)

    def overlaps(self, later: Self) -> bool:
        """Whether it was not over yet when a later one began."""
        return bool(self.metrics["time"] + self.metrics.get("seconds", 0) >= later.metrics["time"])

    def with_since_of(self, other: Self) -> Self:
        """Add since when a run at the same time has found what this one has."""
        since = {name: min(time, other.since.get(name, time)) for name, time in self.since.items()}
        return replace(self, since=since)

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
            time = float(run.metrics["time"])
            # Runs of earlier releases do not say since when anything is there.
            run.since.update(document.get("since") or dict.fromkeys(_names(run.verdicts, run.findings), time))
        except (TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ValueError(f"it is no run of an audit: {error!r}") from error
        return run


@dataclass(frozen=True, slots=True)
class Standing:
    """A verdict other than `identical`, or a finding, that one run after the other has."""

    name: str
    """The same in each run."""
    since: float
    """When the first of these runs was, in seconds since 1970 UTC."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What one run says and the one before did not, and the other way round."""

    since: float
    """When the run before was, in seconds since 1970 UTC."""
    new: tuple[str, ...]
    gone: tuple[str, ...]
    standing: tuple[Standing, ...] = ()
    """What there is now, new or not; what is there longest comes first."""
    ended: tuple[Standing, ...] = ()
    """What the run before had and this one has not, with when it was first there; in the same order."""

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
            _sorted(now.since.items()),
            _sorted((name, since) for name, since in before.since.items() if name not in now.since),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the changes as `epochlog audit --json` prints them."""
        return asdict(self)


def _names(verdicts: Mapping[str, str], findings: Sequence[str]) -> list[str]:
    """Name what there is, but for what only informs."""
    told = (finding for finding in findings if NOTE not in finding)
    return [*(f"{partition}: {verdict}" for partition, verdict in verdicts.items()), *told]


def _sorted(since: Iterable[tuple[str, float]]) -> tuple[Standing, ...]:
    return tuple(sorted((Standing(name, time) for name, time in since), key=_longest_first))


def _longest_first(standing: Standing) -> tuple[float, str]:
    return standing.since, standing.name


def _line(finding: Json) -> str:
    """Name a finding by what stays the same while a log grows, and segments are rolled, cleaned and deleted."""
    place = "" if finding["topic"] is None else f" in {finding['topic']}-{finding['partition']}"
    return f"{finding['replica']}: {finding['severity']} {finding['kind']}{place}{_within(finding)}"


def _within(finding: Json) -> str:
    """Name the place within a copy: by an offset, which may get into another segment, or by a file."""
    if finding["kind"] in MOVING:
        return ""
    if finding["offset"] is not None:
        return f", offset {finding['offset']}"
    return "" if finding["file"] is None else f", {finding['file']}"
