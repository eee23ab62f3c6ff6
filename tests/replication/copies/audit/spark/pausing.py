"""Tasks that stop in their midst until a test lets them go on, so that something can happen meanwhile."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from replication.copies.audit.pipeline.audit_plan import NewExaminer
from replication.copies.audit.snapshots.work import Job
from replication.copies.audit.spark.examine_job import Examine, examining
from replication.copies.audit.spark.source.data_source import KafkaLogSource
from replication.copies.audit.spark.source.log_reader import KafkaLogReader

LONGEST_SECONDS: Final = 300
"""How long one waits for the other, on a machine that does much else too."""


@dataclass(frozen=True)
class Pause:
    """A directory in which a task, of whatever process, and a test leave word for each other."""

    place: Path

    def arm(self) -> "Pause":
        """Let the first task stop that comes to it, and no other."""
        self.place.mkdir()
        (self.place / "armed").touch()
        return self

    def here(self) -> None:
        """Stop, in a task, until `release`."""
        try:
            (self.place / "armed").rename(self.place / f"reached-{os.getpid()}")
        except FileNotFoundError:
            return
        wait_until((self.place / "released").exists)

    def reached(self) -> int:
        """Wait, in a test, until a task has stopped; return its process."""
        wait_until(lambda: bool(self._processes()))
        return self._processes()[0]

    def release(self) -> None:
        """Let it go on."""
        (self.place / "released").touch()

    def _processes(self) -> list[int]:
        return [int(found.name.removeprefix("reached-")) for found in self.place.glob("reached-*")]


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("what was waited for did not happen")
        time.sleep(0.02)


class PausingSource(KafkaLogSource):
    """`kafka-log`, but for a stop after the first rows, at the place that the option `pause` names."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.pause = Pause(Path(options["pause"]))
        super().__init__({name: value for name, value in options.items() if name != "pause"})

    @classmethod
    def name(cls) -> str:
        return "pausing-kafka-log"

    def reader(self, schema: StructType) -> DataSourceReader:
        reader: Any = super().reader(schema)
        return PausingReader(reader, self.pause)


class PausingReader(KafkaLogReader):
    def __init__(self, reader: KafkaLogReader, pause: Pause) -> None:
        super().__init__(reader.logs.chosen, reader.logs.columns)
        self.pause = pause

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for rows in super().read(partition):
            yield rows
            self.pause.here()


@dataclass(frozen=True)
class PausingExaminer:
    """An examiner that stops after its first copy."""

    examiner: Any
    pause: Pause

    def rows(self, jobs: Sequence[Job]) -> Iterator[dict[str, Any]]:
        for job, row in zip(jobs, self.examiner.rows(jobs), strict=True):
            if job.copy is not None:
                self.pause.here()
            yield row


def pausing(pause: Pause) -> Callable[[Sequence[bytes], NewExaminer], Examine]:
    """Make what takes the place of `examining`."""
    return lambda tasks, new_examiner: examining(tasks, partial(_new, new_examiner, pause))


def _new(new_examiner: NewExaminer, pause: Pause) -> Any:
    return PausingExaminer(new_examiner(), pause)
