"""The commands that set everything up: each step of them has a rule, and installs what the tests ask for."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RULE = re.compile(r"^([\w$()./ -]+):(?!=)([^#=\n]*)", re.MULTILINE)
SETUP_STEPS = ("-m venv", "--editable '.[all]' --group dev")
TOOLS = {
    "demo": ("java",),
    **dict.fromkeys(("test", "test-long", "test-oldest"), ("jdk", "maven", "chromium", "xz", "compiler")),
    "test-pipelines": ("jdk", "maven"),
    "test-filesystems": ("filesystems",),
}


def rules() -> dict[str, list[str]]:
    """Each target of the Makefile with its prerequisites; a target that only .PHONY names has no rule."""
    found: dict[str, list[str]] = {}
    for targets, prerequisites in RULE.findall((ROOT / "Makefile").read_text()):
        for target in targets.split():
            if not target.startswith("."):
                found.setdefault(target, []).extend(prerequisites.replace("|", " ").split())
    return found


def prerequisites_of(target: str) -> set[str]:
    """All that `target` needs, directly or not."""
    known, needed, waiting = rules(), set[str](), [target]
    while waiting:
        for name in known.get(waiting.pop(), []):
            if name not in needed:
                needed.add(name)
                waiting.append(name)
    return needed


def dry_run(target: str, tmp_path: Path) -> str:
    """What `make target` would run where nothing has been set up yet."""
    command = ["make", "--dry-run", "--no-print-directory", f"VENV={tmp_path / 'venv'}", target]
    # An outer make tells its children what it was asked for.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("target", [*TOOLS, "setup", "lint", "docs", "mutants", "bench", "bench-floors"])
def test_each_prerequisite_is_made_by_a_rule_or_is_a_file(target: str) -> None:
    known = rules()
    assert target in known
    missing = {name for name in prerequisites_of(target) if name not in known and not (ROOT / name).is_file()}
    assert missing == set()


def test_each_phony_target_has_a_rule() -> None:
    phony = re.search(r"^\.PHONY:((?:[^\\\n]|\\\n)*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    names = phony[1].replace("\\\n", " ").split()
    assert names
    assert set(names) - set(rules()) == set()


def test_test_processes_keep_their_bytecode(tmp_path: Path) -> None:
    makefile = tmp_path / "Makefile"
    makefile.write_text(f"include {ROOT / 'Makefile'}\nshow:\n\t@echo [$$PYTHONDONTWRITEBYTECODE]\n")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    show = ["make", "-s", "-f", makefile, "show"]
    shown = subprocess.run(show, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("target", sorted(TOOLS))
def test_a_fresh_machine_gets_all_that_is_needed(target: str, tmp_path: Path) -> None:
    output = dry_run(target, tmp_path)
    installed = {tool for line in re.findall(r"tests/install (.*)", output) for tool in line.split()}
    assert installed == set(TOOLS[target])
    assert "-m venv" in output
    if target != "demo":
        assert all(step in output for step in SETUP_STEPS)


@pytest.mark.parametrize("tool", ["java", "jdk", "maven", "chromium", "xz", "compiler", "emulator", "filesystems"])
def test_what_cannot_be_installed_is_told_with_what_is_skipped(tool: str, tmp_path: Path) -> None:
    for name in ("bash", "sed", "head", "tr"):
        (tmp_path / name).symlink_to(Path("/usr/bin") / name)
    # `id` is missing too: nobody is root, and nothing is installed.
    environment = {"PATH": str(tmp_path)}
    command = [str(ROOT / "tests/install"), tool]
    skipped = subprocess.run(["/bin/bash", *command], env=environment, capture_output=True, text=True, check=False)
    refused = subprocess.run(
        ["/bin/bash", *command], env=environment | {"REQUIRE_ALL": "1"}, capture_output=True, text=True, check=False
    )
    assert (skipped.returncode, refused.returncode) == (0, 1)
    assert "Missing: " in skipped.stderr
    assert "without" in skipped.stderr
    assert refused.stderr.startswith(skipped.stderr[:30])


def test_an_unknown_tool_is_refused() -> None:
    refused = subprocess.run([str(ROOT / "tests/install"), "rust"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "knows java, jdk, maven, chromium, xz, compiler, emulator and filesystems" in refused.stderr


def submitted(seed: int, tmp_path: Path) -> tuple[list[str], list[str]]:
    """What `.ci/run` runs under a seed, and what it says that it leaves out."""
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "ran: make $*"\n')
    make.chmod(0o755)
    environment = {**os.environ, "CAMPAIGN_SEED": str(seed), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    run = subprocess.run([ROOT / ".ci/run"], env=environment, capture_output=True, text=True, check=True)
    ran = re.findall(r"^ran: (.*)$", run.stdout, re.MULTILINE)
    left_out = re.findall(rf"^left out, in turn by CAMPAIGN_SEED={seed}: (.*)$", run.stdout, re.MULTILINE)
    return ran, left_out


def test_what_takes_turns_before_a_landing_runs_once_in_three_runs_and_each_run_says_what_it_leaves_out(
    tmp_path: Path,
) -> None:
    runs = [submitted(seed, tmp_path) for seed in range(228_700, 228_703)]

    everything = {command for ran, left_out in runs for command in (*ran, *left_out)}
    assert {command.split()[1] for command in everything} == {
        *("lint", "docs", "test", "test-pipelines", "test-oldest", "mutants", "bench-floors")
    }
    for ran, left_out in runs:
        assert [command.split()[1] for command in ran[:3]] == ["lint", "docs", "test"]
        assert sorted((*ran, *left_out)) == sorted(everything)
    assert sorted(command for ran, _ in runs for command in ran[3:]) == sorted(everything - set(runs[0][0][:3]))
