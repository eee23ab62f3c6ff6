"""`epochlog incident`: as text, as JSON, with a page, and its exit status."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.replicas import replicas
from tests.logstore.kernels.sizes import JIT
from tests.replication.cli.command import epochlog


def test_an_unclean_election_in_text_and_with_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    outcome = epochlog("incident", replicas("diverged"), "--report", page, "--bootstrap", "broker1:9092")
    assert (outcome.status, outcome.err) == (3, "")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("Who leads decides what is lost in 2 of 9 partitions")
    assert any(line.startswith("  diverge-0, forked: broker-1 leads by the runbook: 77 records lost") for line in lines)
    assert "None found: damage, transactions without an end." in lines
    assert lines[-1].startswith("Exit status 3: acknowledged records are lost, or will be")
    assert any(line.startswith("     epochlog elect --bootstrap broker1:9092") for line in lines), "commands are whole"
    assert all(len(line) <= 100 for line in lines if not line.startswith("     "))
    assert page.read_text().count("<svg") >= 2


def test_copies_that_agree_end_with_0() -> None:
    outcome = epochlog("incident", replicas("healed"))
    assert (outcome.status, outcome.err) == (0, "")


def test_topics_are_chosen() -> None:
    document = epochlog("incident", replicas("diverged"), "--topics", "hwloss", "--json").document
    assert [each["partition"] for each in document["partitions"]] == ["hwloss-0"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((replicas("diverged") / "broker-1", Path("nowhere")), "nowhere"),
        ((replicas("diverged"), "--topics", "odrers"), "odrers"),
        ((replicas("diverged"), "--report", "none/page.html"), "no directory none"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: tuple[object, ...], words: str) -> None:
    outcome = epochlog("incident", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert words in outcome.err


@pytest.mark.skipif(not JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_neither_numba_nor_pandas_is_loaded_once_kernels_are_kept() -> None:
    code = (
        f"import sys\nsys.argv[1:] = ['incident', {str(replicas('diverged'))!r}]\n"
        "from replication.cli.__main__ import run\ntry:\n    run()\nexcept SystemExit as ended:\n"
        "    print(ended, [name for name in ('numba', 'pandas') if name in sys.modules], file=sys.stderr)"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "3 []\n"


def test_where_topics_are_chosen_the_first_start_tells_what_it_decides_of_others(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    chosen = replicas("diverged"), "--topics", "hwloss"
    told = "what it decides of 8 other partitions, not looked at as others were chosen"
    text = " ".join(epochlog("incident", *chosen, "--report", page).out.split())
    assert text.count(told) == 1
    assert text.index("Start broker-1, and no") < text.index(told) < text.index("Only now start")
    assert told in page.read_text()
    losing = [step["loses"] for step in epochlog("incident", *chosen, "--json").document["steps"] if step["loses"]]
    assert [told in each for each in losing] == [True, False], "what the start decides, and what the election loses"
    assert "what it decides of" not in epochlog("incident", replicas("diverged")).out
