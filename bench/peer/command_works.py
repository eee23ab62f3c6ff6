"""Whole commands, start-up included, beside Kafka's DumpLogSegments on the same log file."""

import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from bench.peer.files import Logs
from bench.peer.kafka_timer import KafkaTimer
from bench.peer.turns import DifferentAnswersError, Settings, Timed, take_turns
from bench.results import KAFKA, OURS, Row
from tests.oracle.kafka import HERE, classpath
from tests.oracle.release import BENCHMARKED

DUMP_TOOL: Final = "org.apache.kafka.tools.DumpLogSegments"
SAMPLE: Final = 1 << 20
"""Bytes of a log that both print, to see that they print the same."""
_OUR_BATCH: Final = re.compile(rb"^base_offset: (\d+) last_offset: (\d+) .* crc: (\d+) ", re.MULTILINE)
_KAFKAS_BATCH: Final = re.compile(rb"^baseOffset: (\d+) lastOffset: (\d+) .* crc: (\d+) ", re.MULTILINE)
_OUR_RECORD: Final = re.compile(rb"^\| offset: (\d+) timestamp: (\d+) ", re.MULTILINE)
_KAFKAS_RECORD: Final = re.compile(rb"^\| offset: (\d+) CreateTime: (\d+) ", re.MULTILINE)


@dataclass(frozen=True)
class Pair:
    """A command and what it does of Kafka's tool."""

    ours: tuple[str, ...]
    kafkas: tuple[str, ...]


PAIRS: Final = {
    "dump": Pair(("dump",), ()),
    "dump --records": Pair(("dump", "--records"), ("--print-data-log",)),
    "verify --records": Pair(("verify", "--records"), ("--deep-iteration",)),
}


class CommandWorks:
    """Each round is a process of its own on either side; what they print is thrown away."""

    group = "commands"
    timer = ""

    def __init__(self, settings: Settings, logs: Logs, kafka: KafkaTimer | None) -> None:
        # Kafka's tool takes up to twenty seconds for a GiB, and nothing stays warm between processes.
        self._settings = replace(settings, rounds=(settings.rounds + 1) // 2, warm_up=0)
        self._logs = logs
        self._with_kafka = kafka is not None

    def works(self) -> dict[str, Callable[[str], Row]]:
        """Return all kinds of work by name."""
        return {f"epochlog {name}": partial(self._beside_kafka, pair) for name, pair in PAIRS.items()}

    def _beside_kafka(self, pair: Pair, name: str) -> Row:
        log, end = self._logs.segment(self._settings.size)
        sides = {OURS: partial(self._run, _our_command(pair, log))}
        if self._with_kafka:
            self._see_that_both_print_the_same(pair, name)
            sides[KAFKA] = partial(self._run, _kafkas_command(pair, log))
        row = Row(name, items=end, unit="records", group=self.group)
        return take_turns(row, sides, self._settings)

    def _run(self, command: list[str]) -> Timed:
        before, start = _processor_time(), time.perf_counter_ns()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        wall = time.perf_counter_ns() - start
        return Timed(wall if self._settings.clock == "wall" else _processor_time() - before)

    def _see_that_both_print_the_same(self, pair: Pair, name: str) -> None:
        """Compare all batches and records, on a small log. `verify` only prints what is wrong, so nothing."""
        directory, _ = self._logs.log("sample", SAMPLE, SAMPLE)
        [log] = directory.glob("*.log")
        ours, kafkas = _output(_our_command(pair, log)), _output(_kafkas_command(pair, log))
        if pair.ours[0] == "verify":
            assert f"{log.stat().st_size:,} bytes of log read: no damage".encode() in ours, ours
            assert _KAFKAS_RECORD.search(kafkas)
            return
        for our_line, kafkas_line in ((_OUR_BATCH, _KAFKAS_BATCH), (_OUR_RECORD, _KAFKAS_RECORD)):
            found, known = our_line.findall(ours), kafkas_line.findall(kafkas)
            if found != known:
                raise DifferentAnswersError(name, {OURS: len(found), KAFKA: len(known)})
        assert _OUR_BATCH.search(ours)


def _our_command(pair: Pair, log: Path) -> list[str]:
    whole = log.parent if pair.ours[0] == "verify" else log
    return [sys.executable, "-m", "replication.cli", *pair.ours, str(whole)]


def _kafkas_command(pair: Pair, log: Path) -> list[str]:
    silent = f"-Dlog4j2.configurationFile={HERE / 'log4j2-off.properties'}"
    return ["java", "-Xmx1g", silent, "-cp", classpath(BENCHMARKED), DUMP_TOOL, *pair.kafkas, "--files", str(log)]


def _output(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=True).stdout


def _processor_time() -> int:
    """Nanoseconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e9)
