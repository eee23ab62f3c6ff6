"""No container is built here: the Containerfile is read, and its commands are run in an environment of their own."""

import os
import re
import shutil
import subprocess
import tempfile
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from sysconfig import get_path
from typing import Final

import pytest

from tests.conftest import require
from tests.container.containerfile import FILE, KNOWN, Stage, context, extras, instructions_of, lineage, stages_of
from tests.data.replicas import PROJECT, replicas

NOBODY: Final = 65_534
INSTRUCTIONS: Final = instructions_of(FILE.read_text())
STAGES: Final = stages_of(INSTRUCTIONS)
*_, DEFAULT = STAGES


def test_every_instruction_is_known_and_a_stage_begins_before_anything_is_done() -> None:
    names = [each.name for each in INSTRUCTIONS]
    assert set(names) <= KNOWN
    assert set(names[: names.index("FROM")]) <= {"ARG"}


def test_each_stage_is_built_on_python_or_on_an_earlier_one() -> None:
    earlier: list[str] = []
    for name, stage in STAGES.items():
        assert stage.base in earlier or re.fullmatch(r"python:3\.\d+-slim-\w+", stage.base), name
        assert {source for each in stage.of("COPY") if (source := each.option("from"))} <= {*earlier}
        earlier.append(name)


def test_what_is_copied_exists_and_is_all_that_the_context_has() -> None:
    copied = {
        source.removeprefix("./")
        for stage in STAGES.values()
        for each in stage.of("COPY")
        if not each.option("from")
        for source in each.words[:-1]
    }
    assert {name for name in copied if not (PROJECT / name).exists()} == set()
    assert copied == context()


def test_all_packages_of_the_wheel_are_copied() -> None:
    tool = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]
    assert {*tool["hatch"]["build"]["targets"]["wheel"]["packages"]} <= context()


def test_the_extras_exist() -> None:
    [given] = [each.value.partition("=")[2] for each in INSTRUCTIONS if each.value.startswith("EXTRAS=")]
    [alternative] = re.findall(r"--build-arg EXTRAS=(\S+)", FILE.read_text())
    assert {*given.split(","), *alternative.split(",")} <= extras()


@pytest.mark.parametrize("name", [DEFAULT, "spark"])
def test_what_is_run_is_the_command_and_not_by_root(name: str) -> None:
    built = lineage(STAGES, name)
    assert [each.words for stage in built for each in stage.of("ENTRYPOINT")] == [["epochlog"]]
    assert [each.value for stage in built for each in stage.of("USER")][-1] not in {"0", "root"}


def test_java_is_in_the_stage_that_asks_for_it_alone() -> None:
    with_java = {name for name in STAGES if any("openjdk" in str(stage) for stage in lineage(STAGES, name))}
    assert with_java == {"spark"}


def test_spark_is_installed_in_the_stage_that_asks_for_it_alone() -> None:
    with_spark = {name for name in STAGES if any("[spark]" in str(stage) for stage in lineage(STAGES, name))}
    assert with_spark == {"spark"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# one\nRUN a \\\n    && b\n", [("RUN", "a && b")]),
        ("RUN a \\\n# within\n  b\n\nUSER 1\n", [("RUN", "a b"), ("USER", "1")]),
    ],
)
def test_instructions_go_on_after_a_backslash(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(each.name, each.value) for each in instructions_of(text)] == expected


class Machine:
    """A directory that stands for an image's root, with an environment in which Python's commands are run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        venv.create(root / "venv", with_pip=True)
        [packages] = (root / "venv/lib").glob("python3*/site-packages")
        # What is required is installed here, at the same versions: nothing is downloaded.
        (packages / "requirements.pth").write_text(f"{get_path('purelib')}\n")

    def build(self, stage: Stage) -> None:
        """Do what a stage does, but for its users: Python's commands, on what it copies."""
        directory = "/"
        for each in stage.instructions:
            if each.name == "WORKDIR":
                directory = each.value
                self.place(directory).mkdir(exist_ok=True)
            if each.name == "COPY" and not each.option("from"):
                *sources, target = each.words
                for source in sources:
                    copy(PROJECT / source, self.place(str(PurePosixPath(directory) / target)))
            if each.name == "RUN" and not each.value.startswith("useradd"):
                done = self.run(each.value, directory)
                assert done.returncode == 0, (each, done.stdout, done.stderr)

    def place(self, path: str) -> Path:
        """Where a path of the image lies."""
        return self.root / path.lstrip("/")

    def run(self, command: str, directory: str = "/", user: int | None = None) -> subprocess.CompletedProcess[str]:
        """Run a line of shell with the image's paths below the root, with no other variables than an image has."""
        return subprocess.run(
            ["bash", "-c", re.sub(r"(?<![\w.])/(wheel|source)\b", rf"{self.root}/\1", command)],
            cwd=self.place(directory),
            env={
                "PATH": f"{self.root / 'venv/bin'}:/usr/bin:/bin",
                "XDG_CACHE_HOME": str(self.place("/var/cache")),
                "PIP_NO_INDEX": "1",
                "PIP_NO_BUILD_ISOLATION": "0",  # means that there is none
                "PIP_ROOT_USER_ACTION": "ignore",
            },
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            capture_output=True,
            text=True,
            check=False,
        )


def copy(source: Path, target: Path) -> None:
    """Copy a directory's content, or a file into a directory."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """What the stages up to `installed` make, by their own commands."""
    if os.environ.get("OLDEST") == "1":
        pytest.skip("constraints.txt has other releases")
    with tempfile.TemporaryDirectory(prefix="epochlog-image-") as directory:
        root = Path(directory)
        root.chmod(0o755)  # other users than this one have to get there
        machine = Machine(root)
        for name in ("wheel", "installed"):
            machine.build(STAGES[name])
        yield machine


def test_what_is_installed_is_this_version_from_the_wheel(machine: Machine) -> None:
    [wheel] = (machine.root / "wheel").glob("*.whl")
    shown = machine.run("epochlog version")
    assert shown.stdout.split() == ["epochlog", wheel.name.split("-")[1]]
    where = machine.run("python -I -c 'import replication; print(replication.__file__)'").stdout
    assert where.startswith(str(machine.root / "venv"))


@pytest.fixture
def other(machine: Machine) -> int | None:
    """Another user than root, who gets to Python; where root does not run the tests, the one who does."""
    if os.geteuid():
        return None
    reaches = machine.run("python -c 'import numpy'", user=NOBODY)
    require(available=reaches.returncode == 0, what="a Python that every user may run")
    return NOBODY


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_kernels_that_root_compiled_serve_every_user_who_may_write_nowhere(machine: Machine, other: int | None) -> None:
    kept = [*machine.root.glob("venv/lib/python3*/site-packages/**/*.nbc")]
    assert len(kept) > 20
    warmed = machine.run("epochlog warm --json", user=other)
    assert (warmed.returncode, warmed.stderr) == (0, "")
    assert [*machine.root.glob("venv/lib/python3*/site-packages/**/*.nbc")] == kept
    assert not machine.place("/var").exists()


def test_another_user_than_root_audits_disks_that_are_mounted_read_only(machine: Machine, other: int | None) -> None:
    data = machine.place("/data")
    shutil.copytree(replicas("diverged"), data)
    for path in (data, *data.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    audited = machine.run(f"epochlog audit {data}", user=other)
    assert "9 partitions: 4 identical, 3 retention, 2 forked" in audited.stdout
    assert (audited.returncode, audited.stderr) == (3, "")
    assert {path: path.stat().st_mtime_ns for path in data.rglob("*")} == before
