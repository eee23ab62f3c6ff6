"""What Kafka's own DumpLogSegments prints of logs and indexes, taken apart."""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.oracle.kafka import classpath, kafka_options
from tests.oracle.release import KafkaRelease

Printed = dict[str, str]
_FIELD: Final = re.compile(r"(\w+): (\[.*?\]|\{.*\}|\S+)")
_CONTENT: Final = re.compile(r" (key|payload): ([0-9a-f]*)")
_SHOWN: Final = "--print-data-log --deep-iteration --key-decoder-class HexDecoder --value-decoder-class HexDecoder"


@dataclass(frozen=True)
class DumpedFile:
    """Lines by their fields: a log's batches and records, or an index's entries; and what is wrong with an index."""

    batches: list[Printed] = field(default_factory=list)
    records: list[Printed] = field(default_factory=list)
    entries: list[Printed] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def dump_files(release: KafkaRelease, files: Iterable[Path]) -> dict[Path, DumpedFile]:
    """Dump the files; keys and values of records are hexadecimal, and left out where they are null."""
    dumped = {file: DumpedFile() for file in files}
    java = ["java", *kafka_options(release), "-cp", classpath(release), "org.apache.kafka.tools.DumpLogSegments"]
    command = [*java, *_SHOWN.split(), "--files", ",".join(map(str, dumped))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-2_000:] + ended.stderr[-2_000:]
    file = Path()
    for line in ended.stdout.splitlines():
        if line.startswith("Dumping "):
            file = Path(line.removeprefix("Dumping "))
        elif line.startswith("| "):
            dumped[file].records.append(_record(line))
        elif line.startswith("baseOffset: "):
            dumped[file].batches.append(dict(_FIELD.findall(line)))
        elif file.suffix == ".log":
            assert line.startswith("Log starting offset: "), line
        elif line.startswith(("offset: ", "timestamp: ")):
            dumped[file].entries.append(dict(_FIELD.findall(line)))
        elif not line.endswith(" is empty."):
            dumped[file].complaints.append(line)
    return dumped


def _record(line: str) -> Printed:
    head = line.partition(" key: ")[0].partition(" payload: ")[0]
    return {**dict(_FIELD.findall(head)), **dict(_CONTENT.findall(line.removeprefix(head)))}
