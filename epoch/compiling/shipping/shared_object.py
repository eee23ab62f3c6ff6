"""The shared objects of a package's kernels, one for each level of processors, and the manifest beside them."""

import ctypes
import hashlib
import json
import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from epoch.compiling.fingerprint import fingerprint_of_directories
from epoch.compiling.shipped_code import MANIFEST, processor_features

_V2: Final = {
    "cx16": "cx16",
    "popcnt": "popcnt",
    "sahf": "lahf_lm",
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "ssse3": "ssse3",
}
_V3: Final = _V2 | {
    "avx": "avx",
    "avx2": "avx2",
    "bmi": "bmi1",
    "bmi2": "bmi2",
    "f16c": "f16c",
    "fma": "fma",
    "lzcnt": "abm",
    "movbe": "movbe",
}
_V4: Final = _V3 | {name: name for name in ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")}
_FOLDING: Final = {"pclmul": "pclmulqdq", "vpclmulqdq": "vpclmulqdq"}
"""What the fast checksums take, which no level has."""
_X86_64: Final = {"x86-64-v4": _V4 | _FOLDING, "x86-64-v3": _V3 | _FOLDING, "x86-64-v2": _V2}
"""The third level without the fast checksums gains nothing over the second."""
LEVELS: Final[dict[str, dict[str, dict[str, str]]]] = {"x86_64": _X86_64, "aarch64": {"aarch64": {"neon": "asimd"}}}
"""The levels of each kind of machine, fastest first: what they need by LLVM's names, with Linux's names for it."""


def can_be_made() -> bool:
    """Whether machine code can be made here."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def lacking(level: str) -> list[str]:
    """Return what this processor lacks for a level, by Linux's names: what numba compiles, it also runs once.

    A kind of machine that is not this one lacks nothing, as nothing of it runs here.
    """
    if _machine(level) != platform.machine():
        return []
    return sorted(set(LEVELS[_machine(level)][level].values()) - processor_features())


def make_all(package: str, directory: Path, levels: Iterable[str]) -> None:
    """Make the shared objects of some levels of one kind of machine, and what their loader checks them by.

    numba keeps what it compiles in the directory too, and what has not changed since is not compiled again. A level
    that this processor cannot run is left out, and that is printed. Raises CalledProcessError where it fails, or the C
    compiler.
    """
    directory.mkdir(parents=True, exist_ok=True)
    without = {level: lacking(level) for level in levels}
    levels = [level for level, missing in without.items() if not missing]
    sys.stdout.writelines(
        f"{level} is left out: this processor lacks {', '.join(missing)}\n"
        for level, missing in without.items()
        if missing
    )
    # What kernels call is among numba's own functions only in the process that compiles it.
    _run_each(["-c", f"import {package}; {package}.warm()"], directory, levels)
    _run_each(["-m", "epoch.compiling.shipping", package], directory, levels)
    files = [_described(directory / f"{level}.so", level) for level in levels]
    packages = _packages(package)
    sources = fingerprint_of_directories(Path(import_module(name).__file__ or "").parent for name in packages)
    manifest = {"packages": packages, "sources": sources, "files": files}
    (directory / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


def _packages(package: str) -> list[str]:
    """Return a package, and the one by which kernels are made, which has some too."""
    return list(dict.fromkeys((package, "epoch")))


def _run_each(arguments: list[str], directory: Path, levels: Iterable[str]) -> None:
    """Run Python once for each level at the same time, with the file that is to be made: numba compiles for one."""
    started = []
    for level in levels:
        chosen = {
            "NUMBA_CPU_NAME": _processor(level),
            "NUMBA_CPU_FEATURES": _features(level),
            "NUMBA_CACHE_DIR": str(directory.absolute().parent / "compiled"),
        }
        if _machine(level) != platform.machine():  # any processor of this kind, without instructions of its own
            chosen |= {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "-avx"}
        command = [sys.executable, *arguments, str(directory / f"{level}.so")]
        started.append(subprocess.Popen(command, env={**os.environ, **chosen}))  # noqa: S603  this Python
    for process in started:
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, process.args)


def _described(file: Path, level: str) -> dict[str, Any]:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return {"file": file.name, "sha256": digest, "features": sorted(LEVELS[_machine(level)][level].values())}


def _machine(level: str) -> str:
    return next(machine for machine, levels in LEVELS.items() if level in levels)


def _processor(level: str) -> str:
    """LLVM's name for what all processors of a level can do."""
    return level if _machine(level) == "x86_64" else "generic"


def _features(level: str) -> str:
    return ",".join(f"+{each}" for each in LEVELS[_machine(level)][level])


def make(package: str, file: Path) -> None:
    """Make the shared object for the processor that this process's numba compiles for, and print what it has."""
    from epoch.compiling.shipping import c_source, position_independent  # noqa: PLC0415  numba loads for a level
    from epoch.compiling.shipping.overload import kernels_of, name_of, overloads_of  # noqa: PLC0415  as above

    import_module(package).warm()
    kernels = list(kernels_of(_packages(package)))
    overloads = [overload for kernel in kernels for overload in overloads_of(kernel)]
    code, source, level = file.with_suffix(".o"), file.with_suffix(".c"), file.stem
    triple, is_own = f"{_machine(level)}-unknown-linux-gnu", _machine(level) == platform.machine()
    code.write_bytes(position_independent.emit(overloads, triple, _processor(level), _features(level)))
    source.write_text(c_source.source(overloads))
    name = os.environ.get("CC", "cc") if is_own else f"{_machine(level)}-linux-gnu-gcc"
    compiler = [name, "-O2", "-fPIC", "-fvisibility=hidden", "-fno-stack-protector"]
    python = ["-DPy_LIMITED_API=0x030b0000", f"-I{sysconfig.get_path('include')}"]
    # No library is named, so that it goes with any C library: what it needs of one, its Python has.
    linked = ["-shared", "-nostdlib", "-Wl,-z,text,-z,now,-z,noexecstack,--gc-sections,--build-id=none,-s"]
    command = [*compiler, *python, *linked, str(source), str(code), "-o", str(file)]
    subprocess.run(command, check=True)  # noqa: S603  the C compiler
    if is_own:
        ctypes.CDLL(str(file))  # raises OSError where it needs something else
    left_out = sorted({name_of(kernel) for kernel in kernels} - {overload.name for overload in overloads})
    sys.stdout.write(f"{file.name}: {len(overloads)} functions, {file.stat().st_size:,} bytes\n")
    sys.stdout.writelines(f"  without {name}\n" for name in left_out)
