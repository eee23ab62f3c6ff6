"""A package with one kernel and a copy of what compiles kernels beside it, used by processes of their own."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import epoch

CONSTANTS = "STEP = 1\n"
HELPERS = """
from constants import STEP
from epoch.compiling.kernel import inlined

@inlined
def increment(x: int) -> int:
    return x + STEP
"""
KERNELS = """
from epoch.compiling.kernel import kernel
from package.helpers import increment

@kernel
def add_one(x: int) -> int:
    return increment(x)
"""
PROGRAM = """
from package.kernels import add_one
print(add_one(5), sum(add_one.stats.cache_hits.values()), add_one._cache.cache_path, sep="|")
"""


PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


def be_bound() -> None:
    """Give up root's right to write anywhere, from the next program on (Linux; elsewhere nothing)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


class Answer(NamedTuple):
    """What a process said of the kernel."""

    value: int
    hits: int
    """1 where it came from disk."""
    directory: Path
    """Where it is looked for first."""


class KernelPackage:
    """`package.kernels.add_one` below a directory. Processes import nothing of the project but from there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.directory = root / "package"
        self.beside = self.directory / "__pycache__"
        self.home = root / "home"
        for name in ("epoch", "package"):
            (root / name).mkdir()
            (root / name / "__init__.py").touch()
        own = Path(epoch.__file__).parent
        for source in own.glob("[!_]*.py"):
            shutil.copy(source, root / "epoch")
        no_code = shutil.ignore_patterns("__pycache__")
        for name in ("base", "compiling"):
            shutil.copytree(own / name, root / "epoch" / name, ignore=no_code)
        (root / "constants.py").write_text(CONSTANTS)
        (self.directory / "helpers.py").write_text(HELPERS)
        (self.directory / "kernels.py").write_text(KERNELS)

    def start(self, program: str, *, bound: bool = False, **environment: str) -> subprocess.Popen[str]:
        """Run a program in a new process, if `bound` one that permissions bind even where root runs it."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        places = {"HOME": str(self.home), "XDG_CACHE_HOME": str(self.home / ".cache"), "PYTHONPATH": str(self.root)}
        return subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=self.root,
            env={**kept, "PYTHONDONTWRITEBYTECODE": "1", **places, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=be_bound if bound else None,  # noqa: PLW1509  it makes a system call, no more
        )

    def python(self, program: str, *, bound: bool = False, **environment: str) -> str:
        """Run a program to its end, for what it prints; it may say nothing else."""
        process = self.start(program, bound=bound, **environment)
        printed, complaints = process.communicate()
        assert (process.returncode, complaints) == (0, "")
        return printed.strip()

    def run(self, *, bound: bool = False, **environment: str) -> Answer:
        """Call the kernel in a new process."""
        value, hits, directory = self.python(PROGRAM, bound=bound, **environment).split("|")
        return Answer(int(value), int(hits), Path(directory))

    def files(self, place: Path | None = None) -> list[Path]:
        """All that is kept on disk below a place, beside the sources if none is given."""
        return sorted((place or self.beside).glob("*/*"))
