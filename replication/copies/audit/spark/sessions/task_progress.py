"""How far Spark has come with the tasks of an audit, in bytes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from pyspark.sql import SparkSession

SECONDS: Final = 0.5
"""Between looks."""


@contextmanager
def watched(spark: SparkSession, group: str, tasks: int, size: int, advance: Callable[[int], None]) -> Iterator[None]:
    """Report to `advance` how many of `size` bytes are done by a group's `tasks`, which are about equal.

    Over Spark Connect, whose clients see no tasks, all bytes are done at the end.
    """
    context = getattr(spark, "_jsc", None) and spark.sparkContext
    if not context:
        yield
        advance(size)
        return
    tracker, ended = context.statusTracker(), Event()

    def watch() -> None:
        told = 0
        while not ended.wait(SECONDS):
            jobs = [job for number in tracker.getJobIdsForGroup(group) if (job := tracker.getJobInfo(number))]
            stages = [stage for job in jobs for number in job.stageIds if (stage := tracker.getStageInfo(number))]
            done = max((stage.numCompletedTasks for stage in stages if stage.numTasks == tasks), default=0)
            now = size * done // tasks
            advance(max(now - told, 0))
            told = max(now, told)
        advance(size - told)

    thread = Thread(target=watch, name="audit progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
