"""What workers are asked to do in tests: functions that their processes import."""

import os
import signal
import tempfile
import time
from functools import partial
from pathlib import Path

from logstore.offline.log_file import LogFile
from replication.copies.audit.examination.copy_examiner import Examiner, Row
from replication.copies.audit.local.live_look import LiveLook, look
from replication.copies.audit.local.live_task import LiveTask
from replication.copies.audit.pipeline.audit_plan import NewExaminer
from replication.copies.audit.snapshots.work import Job
from tests.logstore.batches import simple_batch


def process_id() -> int:
    return os.getpid()


def process_id_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def squared_after(number: int, seconds: float) -> int:
    time.sleep(seconds)
    return number**2


def raise_error(error: Exception) -> None:
    raise error


def killed_once(marker: str, number: int) -> int:
    """Kill this process, unless another one was killed for the same marker."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def killed_always(directory: str) -> None:
    tempfile.mkstemp(dir=directory)
    os.kill(os.getpid(), signal.SIGKILL)


def print_and_return(text: str) -> int:
    print(text)  # noqa: T201  that is what is tested
    return len(text)


def cut_off_in_the_busy_topic(task: LiveTask, new_examiner: NewExaminer) -> LiveLook:
    """Die as whoever reads a file that is truncated meanwhile."""
    return _killed(task, new_examiner, signal.SIGBUS)


def killed_in_the_busy_topic(task: LiveTask, new_examiner: NewExaminer) -> LiveLook:
    return _killed(task, new_examiner, signal.SIGKILL)


def _killed(task: LiveTask, new_examiner: NewExaminer, by: signal.Signals) -> LiveLook:
    if task.partition is not None and task.partition.topic == "busy":
        os.kill(os.getpid(), by)
    return look(task, new_examiner)


MOVING = "moving"
"""The name of a file beside the roots: as long as it is there, the busy topic is written to while it is read."""


def look_while_it_moves(task: LiveTask, new_examiner: NewExaminer) -> LiveLook:
    """Let brokers append the same batch to each copy of the busy topic, once it was read."""
    return look(task, partial(_Appending, new_examiner()))  # type: ignore[arg-type]  # it has what is used


class _Appending:
    def __init__(self, examiner: Examiner) -> None:
        self._examiner = examiner

    def row(self, job: Job) -> Row:
        row = self._examiner.row(job)
        if job.copy and job.copy.topic_partition.topic == "busy" and Path(job.root, "..", MOVING).exists():
            active = max(Path(job.root, job.copy.directory).glob("*.log"))
            with LogFile.open(active) as log:
                *_, last = log.batches()
            with open(active, "ab") as file:
                file.write(simple_batch(last.last_offset + 1))
        return row
