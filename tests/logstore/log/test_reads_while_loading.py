"""A signal handler reads while the code that it has interrupted is just loading the compiled search."""

import subprocess
import sys
from pathlib import Path

import pytest

READ = """
import signal, sys
from epoch.compiling.awaited_kernel import _is_compiled
from logstore import Log, LogConfig, Record, Isolation

log = Log.open(sys.argv[1], LogConfig(index_interval_bytes=0))
for number in range(200):
    log.append([Record.of(b"%d" % number + bytes(100), timestamp=number)])
calls = {
    "read": lambda: bytes(log.read(7, 500).data),
    "offset_for_timestamp": lambda: log.offset_for_timestamp(7),
    "lookup": lambda: log.segments[-1].reader.locate(7, log.size),
}
call, told = calls[sys.argv[2]], []
assert _is_compiled()  # known from here on: what interrupts below is the import alone
assert "numba" not in sys.modules

class Finder:
    def find_spec(self, name, *_):
        if name in {"numba", "logstore.kernels.bytes"} and len(told) < 2:
            signal.raise_signal(signal.SIGUSR1)

signal.signal(signal.SIGUSR1, lambda *_: told.append(call()))
sys.meta_path.insert(0, Finder())
answers = {call() for _ in range(20_000)}
assert len(answers) == 1, answers
assert "numba" in sys.modules
assert len(told) == 2 and set(told) == answers, told
"""


@pytest.mark.parametrize("call", ["read", "offset_for_timestamp", "lookup"])
def test_what_a_signal_handler_reads_meanwhile_is_right(tmp_path: Path, call: str) -> None:
    arguments = [sys.executable, "-c", READ, str(tmp_path / "t-0"), call]
    process = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")
