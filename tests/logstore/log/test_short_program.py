"""What a program loads that opens a log, appends a record durably and ends: little, as each start pays for it."""

import subprocess
import sys
from pathlib import Path
from typing import Final

PROGRAM: Final = """
import sys
before = set(sys.modules)
from logstore import Log

with Log.open(sys.argv[1] + "/log-0") as log:
    log.append([b"a"])
    log.flush()
print(*set(sys.modules) - before)
"""
OWN: Final = ("epoch", "logstore")
MOST_OWN_MODULES: Final = 140
"""Each costs a tenth of a millisecond and more. What other calls need goes into a package whose modules are lazy."""
SLOW: Final = {
    "asyncio",
    "concurrent",
    "ctypes",
    "datetime",
    "json",
    "logging",
    "random",
    "shutil",
    "socket",
    "subprocess",
}
"""Of the standard library: what such a program does without."""
OTHERS: Final = {"cramjam", "crc32c", "llvmlite", "numba", "numpy", "zstandard"}


def loaded(directory: Path) -> set[str]:
    """Run the program; return the names of all modules that it has loaded."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(directory)], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_it_loads_few_modules_and_no_other_packages(tmp_path: Path) -> None:
    for names in (loaded(tmp_path), loaded(tmp_path)):  # the log is new, and is there
        packages = {name.partition(".")[0] for name in names}
        assert not packages & (OTHERS | SLOW)
        assert sum(name.partition(".")[0] in OWN for name in names) <= MOST_OWN_MODULES
