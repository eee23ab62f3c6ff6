"""Without numba every command, and every call of the library, does what it does with it: slower, in plain Python."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.test_missing_packages import BLOCKING, CALLS, ONE, TWO

WITHOUT: Final = f"NAMES = {{'numba', 'llvmlite'}}\n{BLOCKING}"
WITH: Final = ""
COMMANDS_RUN: Final = """
import json, sys
from tests.replication.cli.command import epochlog

told = []
for words in json.loads(sys.argv[1]):
    outcome = epochlog(*words)
    told.append([outcome.status, outcome.out, outcome.err])
print(json.dumps([told, "numba" in sys.modules]))
"""
LIBRARY_USED: Final = """
import json, sys
import numpy as np
from epoch import EpochHistory
from epoch.bulk import EpochTable
from logstore import BatchTemplate, Codec, Log, LogFile, Record, encode_columns, encode_values, scan_headers
from logstore.offline.batch_scan import PLAIN_BUDGET

PLAIN_BUDGET.batches_left = 0  # the kernels are to do it

table = EpochTable([EpochHistory([(0, 0), (3, 50)]), EpochHistory([(1, 0)])])
told = [column.tolist() for column in table.end_offsets_for([0, 1], [1, 1], [80, 20])]
with Log.open(sys.argv[1] + "/t-0") as log:
    for codec in Codec:
        template = BatchTemplate(codec=codec, compression_level=None)
        log.append([Record(-1, 7 + n, b"key %d" % (n % 5), b"v" * n) for n in range(300)], template=template)
    log.append(encode_values([b"y" * 100] * 450, 7, batch_bytes=1 << 20))
    log.flush()
    columns = list(log.columns(0))
    told += [[column.tolist() for column in (each.offset, each.timestamp, each.key_length)] for each in columns]
    told.append(log.to_arrow(0).to_pydict()["offset"])
    told.append([record.offset for record in log.records(since=100)])
    told.append(bytes(encode_columns(columns[0])).hex())
    path = log.segments[0].path
with LogFile.open(path) as file:
    told += [[each.crc_valid.tolist(), each.last_offset.tolist()] for each in file.scan()]
told += [each.position.tolist() for each in scan_headers(path)]
print(json.dumps([told, "numba" in sys.modules]))
"""
MORE: Final = [
    ["verify", ONE, "--records"],
    ["incident", ONE, TWO, "--json"],
    ["explain", "diverge-0", ONE, TWO, "--json"],
]


def run(program: str, argument: str) -> tuple[list[object], bool]:
    """Return what a program has printed: what it tells, and whether numba was loaded."""
    done = subprocess.run(
        [sys.executable, "-c", program, argument], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    told, has_numba = json.loads(done.stdout.splitlines()[-1])
    return told, has_numba


def test_each_command_does_the_same(tmp_path: Path) -> None:
    calls = [words for several in CALLS.values() for words in several if "spark" not in words and "a.b" not in words]
    results = []
    for number, begin in enumerate((WITH, WITHOUT)):
        place = tmp_path / str(number)
        place.mkdir()
        named = [[each.replace("{new}", str(place / str(call))) for each in words] for call, words in enumerate(calls)]
        told, has_numba = run(f"{begin}\n{COMMANDS_RUN}", json.dumps(named + MORE))
        assert has_numba is (begin == WITH)
        results.append([[status, *(_without_times(text, place) for text in texts)] for status, *texts in told])
    for words, known, plain in zip(calls + MORE, *results, strict=True):
        assert plain == known, words


def test_the_library_does_the_same(tmp_path: Path) -> None:
    results = []
    for number, begin in enumerate((WITH, WITHOUT)):
        (tmp_path / str(number)).mkdir()
        told, has_numba = run(f"{begin}\n{LIBRARY_USED}", str(tmp_path / str(number)))
        assert has_numba is (begin == WITH)
        results.append(told)
    assert results[0] == results[1]


def test_warm_says_which_extra_compiles() -> None:
    (((status, _, complaint),), _) = run(f"{WITHOUT}\n{COMMANDS_RUN}", json.dumps([["warm"]]))
    advice = "install the extra `compile`, in a checkout: pip install '.[cli,compile]'"
    assert (status, complaint) == (2, f"epochlog: compiled kernels need numba: {advice}\n")


def _without_times(text: str, place: Path) -> str:
    text = re.sub(r" in [0-9.]+ s\b", " in so many s", text.replace(str(place), "place"))
    return re.sub(r'"seconds": [0-9.e-]+', '"seconds": 0', text)
