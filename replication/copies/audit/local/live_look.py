"""One look at all copies of a partition, or at a root, of running brokers: what moved meanwhile does not count."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from logstore.verify.finding import Severity
from replication.copies.audit.examination.copy_examiner import Examiner, Row, copy_row
from replication.copies.audit.judgement.verdict import REASSURING
from replication.copies.audit.local.live_passes import Troubles
from replication.copies.audit.local.live_task import LiveTask, place_of
from replication.copies.audit.pipeline.audit_plan import NewExaminer
from replication.copies.audit.pipeline.partition_rows import judge_rows
from replication.copies.audit.snapshots.directory_state import DirectoryState
from replication.copies.audit.snapshots.snapshot import segment_extents
from replication.copies.audit.snapshots.work import Job
from replication.copies.audit.tables import EXAMINED

CUT: Final = "files were truncated under their reader"
"""How the copies have moved of which the system has ended the reader (SIGBUS)."""
_CAME: Final = "the directory was not there when the snapshots were listed, and is now"
_WENT: Final = "the directory was there when the snapshots were listed, and is gone"
_DAMAGE: Final = frozenset(severity.value for severity in Severity if severity.is_damage)

Moved = Mapping[Job, str]
"""What has moved, in words."""
States = Mapping[Job, DirectoryState]


@dataclass(frozen=True, slots=True)
class LiveLook:
    """What was seen between two moments; final where nothing has moved from one to the other."""

    rows: Mapping[Job, Row]
    """As `tables.EXAMINED` has them; of a copy that moved, only whose it is."""
    judged: Row | None = None
    """As `tables.JUDGED` has it; None of a root, and of a partition that was deleted."""
    moved: Moved = field(default_factory=dict)

    @property
    def troubles(self) -> Troubles:
        """What is wrong: verdicts under which copies contradict each other, and damage."""
        findings = [finding for row in self.rows.values() for finding in row["findings"]]
        findings += self.judged["findings"] if self.judged else ()
        verdicts = self.judged["verdicts"] if self.judged else ()
        return frozenset(
            (
                *((verdict,) for verdict in verdicts if verdict not in REASSURING),
                *((each["replica"], each["kind"], each["file"]) for each in findings if each["severity"] in _DAMAGE),
            )
        )

    @property
    def is_gone(self) -> bool:
        """Whether the partition was deleted."""
        return not self.rows


def look(task: LiveTask, new_examiner: NewExaminer) -> LiveLook:
    """Read and judge what stands there, and see whether all of it has stood still from before to afterwards."""
    before = _states(task)
    if task.partition is not None and not any(state.is_there for state in before.values()):
        return LiveLook({})
    try:
        seen = _seen(task, new_examiner(), before)
    except Exception:
        # What is cut off or written while it is read may look like anything, but only then.
        seen, moved = LiveLook({job: _blank(job) for job in task.listed}), _moved(task, before, _states(task))
        if not moved:
            raise
    else:
        moved = _moved(task, before, _states(task))
    return _without(task, seen.rows, moved) if moved else seen


def cut_off(task: LiveTask) -> LiveLook:
    """Return what is known where the reader was ended in the midst of it: nothing."""
    return _without(task, {}, dict.fromkeys(task.listed, CUT))


def _seen(task: LiveTask, examiner: Examiner, states: States) -> LiveLook:
    rows = {job: _row(examiner, job, states[job]) for job in task.listed}
    return LiveLook(rows, _judged(task, rows))


def _without(task: LiveTask, rows: Mapping[Job, Row], moved: Moved) -> LiveLook:
    """Leave out of a look what has moved; the other copies are judged without it."""
    blank = {job: _blank(job) for job in (*moved, *rows)}
    kept = {job: blank[job] if job in moved else rows[job] for job in blank}
    try:
        return LiveLook(kept, _judged(task, kept), moved)
    except Exception:  # noqa: BLE001  what stood still so far may move by now, as in `look`
        return LiveLook(blank, _judged(task, blank), moved)


def _judged(task: LiveTask, rows: Mapping[Job, Row]) -> Row | None:
    partition = task.partition
    if partition is None:
        return None
    registered = {} if task.registered is None else {partition: task.registered}
    return judge_rows([*rows.values()], {partition: task.missing}, registered)


def _states(task: LiveTask) -> States:
    return {job: DirectoryState.of(place_of(job)) for job in (*task.listed, *task.absent)}


def _row(examiner: Examiner, job: Job, state: DirectoryState) -> Row:
    """Examine a copy as it is by now."""
    if job.copy is None:
        return {**_blank(job), **examiner.row(job)}
    copy = replace(job.copy, segments=tuple(segment_extents(state.sizes)))
    return {**_blank(job), **examiner.row(replace(job, copy=copy))}


def _blank(job: Job) -> Row:
    known = copy_row(job.copy) if job.copy else {"replica": job.replica, "root": job.root}
    return {**dict.fromkeys(EXAMINED), **known, "is_part": False, "findings": []}


def _moved(task: LiveTask, before: States, after: States) -> Moved:
    moved = {}
    for jobs, turned in ((task.listed, _WENT), (task.absent, _CAME)):
        for job in jobs:
            is_as_listed = before[job].is_there is (jobs is task.listed)
            movement = before[job].movement(after[job]) or (None if is_as_listed else turned)
            if movement is not None:
                moved[job] = movement
    return moved
