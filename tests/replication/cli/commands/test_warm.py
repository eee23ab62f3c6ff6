"""`epochlog warm`, and what the first commands after an installation do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import epoch
from tests.conftest import require_java_for_spark
from tests.data.replicas import replicas
from tests.epoch.compiling.kernel_package import be_bound
from tests.replication.cli.command import epochlog

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")

PROJECT = Path(epoch.__file__).parent.parent
PROCESSES = 4
SECONDS = 300


def start(*arguments: object, packages: Path = PROJECT, **environment: str) -> subprocess.Popen[str]:
    """Run a command as a process of its own that permissions bind."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.Popen(
        [sys.executable, "-m", "replication.cli", *map(str, arguments)],
        cwd=packages,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(packages), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=be_bound,  # noqa: PLW1509  it makes a system call, no more
    )


def test_warm_names_each_kernel_and_where_machine_code_is_kept() -> None:
    outcome = epochlog("warm", "--json")
    assert outcome.status == 0
    assert {"scan", "decode", "check_records", "EpochTable"} <= {each["kernel"] for each in outcome.document["kernels"]}
    for place in outcome.document["kept"]:
        assert place["bytes"] == sum(file.stat().st_size for file in Path(place["directory"]).iterdir()) > 0
        assert f"MB of machine code in {place['directory']}\n" in epochlog("warm").out


def test_a_read_only_installation_without_a_home_works_and_says_once_that_it_compiles_each_time(tmp_path: Path) -> None:
    for name in ("epoch", "logstore", "replication"):
        shutil.copytree(PROJECT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for directory in (tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())):
        directory.chmod(0o555)
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = start("verify", "--records", replicas("healed") / "broker-1", packages=tmp_path, **home)
    _, complaints = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    (line,) = complaints.splitlines()
    assert line.startswith("epochlog: compiled kernels cannot be kept, so that each process compiles them again: ")
    assert f"{tmp_path}/logstore/kernels/__pycache__: Permission denied; " in line
    assert not [*tmp_path.rglob("*.nbc"), *tmp_path.rglob("*.o")]


def test_warm_fails_where_nothing_is_kept() -> None:
    process = start("warm", "--json", NUMBA_DISABLE_JIT="1")
    printed, complaints = process.communicate(timeout=SECONDS)
    assert (process.returncode, json.loads(printed)["kept"]) == (2, [])
    assert complaints.endswith("epochlog: no machine code was kept: each process compiles it again\n")


def test_warm_fails_where_not_all_is_kept(tmp_path: Path) -> None:
    for kept in (Path(each["directory"]) for each in epochlog("warm", "--json").document["kept"]):
        if kept.name.startswith("logstore"):
            shutil.copytree(kept, tmp_path / kept.name, dirs_exist_ok=True)
    tmp_path.chmod(0o555)
    process = start("warm", "--json", NUMBA_CACHE_DIR=str(tmp_path))
    printed, complaints = process.communicate(timeout=SECONDS)
    assert (process.returncode, len(json.loads(printed)["kept"])) == (2, 2)
    assert f"{tmp_path}/epoch-" in complaints
    assert complaints.endswith("epochlog: not all machine code was kept: each process compiles the rest again\n")


def test_commands_may_start_at_once_after_an_installation(tmp_path: Path) -> None:
    command = ("verify", "--records", "--json", replicas("healed") / "broker-1")
    processes = [start(*command, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(PROCESSES)]
    told = {(*process.communicate(timeout=SECONDS), process.returncode) for process in processes}
    assert len(told) == 1
    files = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert {Path(name).suffix for name in files} == {".nbc", ".o"}
    later = start(*command, NUMBA_CACHE_DIR=str(tmp_path))
    assert (*later.communicate(timeout=SECONDS), later.returncode) in told


def test_spark_that_does_not_start_is_a_failure_of_one_line(tmp_path: Path) -> None:
    require_java_for_spark()
    process = start("warm", "--spark", SPARK_SUBMIT_OPTS="-javaagent:nowhere.jar", XDG_CACHE_HOME=str(tmp_path))
    _, complaints = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert complaints.splitlines()[-1].startswith("epochlog: the Spark job failed: ")
    assert "Traceback" not in complaints
    assert list(tmp_path.rglob("*.jsa")) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has names of one process alone")
def test_spark_starts_where_this_machine_does_not_know_its_own_name() -> None:
    require_java_for_spark()
    renamed = ["unshare", "--uts", "sh", "-c", 'hostname nobody-knows-this && exec "$@"', "sh"]
    if subprocess.run([*renamed, "true"], check=False, capture_output=True).returncode:
        pytest.skip("only root may rename a machine")
    command = [sys.executable, "-m", "epochlog", "audit", "--engine", "spark", *replicas("healed").iterdir()]
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_LOCAL_IP"}
    audited = subprocess.run([*renamed, *command], env=environment, capture_output=True, text=True, check=False)
    assert (audited.returncode, audited.stderr) == (0, "")
