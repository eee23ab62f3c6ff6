"""What holds for all commands: wrong arguments are one line, and so is an output that fails."""

import operator
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog

ROOT = replicas("diverged") / "broker-1"
COMMAND = f"{sys.executable} -m replication.cli"
DUMP, VERIFY, PLAN = f"dump {ROOT}", f"verify --json {ROOT}", f"plan --leader {ROOT} --follower {ROOT.parent}/broker-2"
FIRST_WORD = operator.itemgetter(slice(4))
BUFFERING = pytest.mark.parametrize("unbuffered", ["", "1"])


def shell(script: str, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    """Run a script, and count a pipe as failed where any of its commands fails."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )


class TestWrongArgumentsAreOneLineAndStatus2:
    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (["nope"], "No such command 'nope' (see `epochlog --help`)"),
            (["verfy"], "No such command 'verfy'. Did you mean 'verify'? (see `epochlog --help`)"),
            (["verify"], "Missing argument 'DIR...'; write epochlog verify DIR... (see `epochlog verify --help`)"),
            (
                ["plan", "--leader", "a"],
                (
                    "Missing option '--follower'; write epochlog plan --leader DIR --follower DIR "
                    "(see `epochlog plan --help`)"
                ),
            ),
            (["dump", "--bogus", "a"], "No such option: --bogus (see `epochlog dump --help`)"),
            (
                ["explain", "-topic-0", "a"],
                "No such option: -t: names that begin with a dash go behind -- (see `epochlog explain --help`)",
            ),
            (["--bogus"], "No such option: --bogus (see `epochlog --help`)"),
            (
                ["plan", "--leader", "a", "--follower", "b", "--protocol", "kip-5"],
                (
                    "Invalid value for '--protocol': 'kip-5' is not one of 'high-watermark', 'kip-101', 'kip-320' "
                    "(see `epochlog plan --help`)"
                ),
            ),
            (
                ["truncate", "a", "--to", "-1", "--in-place"],
                (
                    "Invalid value for '--to': '-1' is not an offset, which is a whole number from 0 on "
                    "(see `epochlog truncate --help`)"
                ),
            ),
            (
                ["dump", "a", "--offsets", "10:5"],
                (
                    "Invalid value for --offsets: '10:5' ends before it starts: did you mean 5:10? "
                    "(see `epochlog dump --help`)"
                ),
            ),
            (["verify", ""], "an argument is empty; is it a shell variable that is not set?"),
            (
                ["epochs", "a", "--rebuild", "--output="],
                "an argument is empty; is it a shell variable that is not set?",
            ),
        ],
    )
    def test_it_says_what_is_wrong(self, arguments: list[str], complaint: str) -> None:
        outcome = epochlog(*arguments)
        assert (outcome.status, outcome.out, outcome.err) == (2, "", f"epochlog: {complaint}\n")

    @pytest.mark.parametrize("name", ["dump", "verify", "epochs", "plan", "advise", "recover", "truncate"])
    def test_a_path_that_is_missing(self, name: str, tmp_path: Path) -> None:
        missing = tmp_path / "nowhere"
        options = {
            "plan": ["--leader", missing, "--follower", ROOT],
            "advise": [missing, ROOT],
            "recover": [missing, "--in-place", "--yes"],
            "truncate": [missing, "--to", "1", "--in-place", "--yes"],
        }
        outcome = epochlog(name, *options.get(name, [missing]))
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err.startswith(f"epochlog: {missing}: ")
        assert outcome.err.lower().count("no such") == outcome.err.count("\n") == 1


def test_without_arguments_there_is_help() -> None:
    outcome = epochlog()
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == epochlog("--help").out


def test_help_shows_whole_sentences_and_plain_usage() -> None:
    told = epochlog("--help").out
    assert "..." not in told.partition("Commands:")[2]
    assert [epochlog(name, "-h").out.splitlines()[0] for name in ("dump", "advise", "epochs")] == [
        "Usage: epochlog dump [OPTIONS] PATH...",
        "Usage: epochlog advise [OPTIONS] ROOT ROOT...",
        "Usage: epochlog epochs [OPTIONS] DIR",
    ]


def test_the_version_is_told_in_every_way_it_is_asked_for() -> None:
    said = epochlog("version").out
    assert said.startswith("epochlog ")
    assert epochlog("--version").out == said
    assert epochlog("version", "--json").document == {"schema_version": 1, "version": said.split()[1]}


class TestOutputThatFails:
    @BUFFERING
    @pytest.mark.parametrize("arguments", [DUMP, VERIFY, PLAN, "version", "--help"], ids=FIRST_WORD)
    def test_a_full_disk_is_one_line_and_status_2(self, arguments: str, unbuffered: str) -> None:
        done = shell(f"{COMMAND} {arguments} > /dev/full", unbuffered)
        assert (done.returncode, done.stderr) == (2, "epochlog: standard output: No space left on device\n")

    @BUFFERING
    @pytest.mark.parametrize(
        "arguments", [DUMP, f"{DUMP} --json --records", VERIFY, "version", "--help"], ids=FIRST_WORD
    )
    def test_a_reader_that_goes_away_is_as_with_any_command(self, arguments: str, unbuffered: str) -> None:
        done = shell(f"{COMMAND} {arguments} | true", unbuffered)
        assert (done.returncode, done.stderr) == (141, "")

    def test_a_reader_that_takes_a_part_gets_it(self) -> None:
        done = shell(f"{COMMAND} {DUMP} | head -1")
        assert (done.returncode, done.stdout.count("\n"), done.stderr) == (141, 1, "")

    @pytest.mark.parametrize(("arguments", "status"), [(f"verify {ROOT} >&-", 0), ("dump nope 2>&-", 2)])
    def test_a_closed_stream_leaves_the_exit_status(self, arguments: str, status: int) -> None:
        done = shell(f"{COMMAND} {arguments}")
        assert (done.returncode, done.stdout, done.stderr) == (status, "", "")

    @BUFFERING
    def test_an_error_stream_that_fails_leaves_the_exit_status(self, unbuffered: str) -> None:
        assert shell(f"{COMMAND} dump nope 2> /dev/full", unbuffered).returncode == 2


@pytest.mark.parametrize("module", ["typer", "replication.cli.commands.dump"])
def test_an_interrupt_while_it_is_loaded_is_no_traceback(module: str) -> None:
    code = (
        "import builtins, sys\nreal = builtins.__import__\n"
        f"def interrupted(name, *rest):\n    if name == {module!r}:\n        raise KeyboardInterrupt\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = interrupted\nfrom replication.cli.__main__ import run\nrun()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
