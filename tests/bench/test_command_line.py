"""What all measuring programs make of their command lines."""

import subprocess
import sys
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from bench import cold_start, limits
from bench.command_line import count, result_file
from bench.peer.__main__ import main as peer
from bench.results import ROOT
from bench.scaling.__main__ import main as scaling

INTERRUPTED = """
import os, signal
from bench.command_line import run_program
run_program(lambda: os.kill(os.getpid(), signal.SIGINT))
"""


@pytest.mark.parametrize("text", ["0", "-1"])
def test_a_count_is_one_at_least(text: str) -> None:
    assert count("1") == 1
    with pytest.raises(ArgumentTypeError, match=f"{text}: 1 at least"):
        count(text)


def test_a_result_that_could_not_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    assert result_file(str(tmp_path / "new/result.json")).parent.is_dir()
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file/result.json"):
        with pytest.raises(ArgumentTypeError, match=str(tmp_path)):
            result_file(str(place))


@pytest.mark.parametrize("main", [limits.main, cold_start.main, peer, scaling])
@pytest.mark.parametrize("words", [["--rounds", "0"], ["--json", str(ROOT)]])
def test_every_program_refuses_what_gives_no_result(main: object, words: list[str]) -> None:
    assert callable(main)
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2


@pytest.mark.parametrize("main", [cold_start.main, peer, scaling])
def test_a_name_that_nothing_has_is_told(main: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(main)
    assert main(["--only", "perpetual motion"]) == 2
    assert "'perpetual motion'" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["0", "-1", "nan", "inf", "0.0001"])
def test_logs_have_a_size(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        peer(["--gib", size])
    assert "--gib" in capsys.readouterr().err


def test_what_is_interrupted_ends_without_a_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
