"""A quick run is held against the baseline of the same processor, and told apart from noise."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.quick.__main__ import BASELINES, baseline_of, main
from bench.quick.works import WORKS

PROCESSOR = "AMD EPYC 7B13 (64 cores)"


def result(path: Path, **seconds: float) -> Path:
    """Write what pytest-benchmark would, of work that took so many seconds."""
    document: dict[str, Any] = {
        "machine_info": {"cpu": {"brand_raw": PROCESSOR}},
        "benchmarks": [
            {"group": "append", "name": name, "stats": dict.fromkeys(("min", "q1", "q3", "median"), each)}
            for name, each in seconds.items()
        ],
    }
    path.write_text(json.dumps(document))
    return path


def test_without_a_baseline_the_run_says_how_to_keep_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result(tmp_path / "quick.json", one=2e-6)
    assert main([str(found)], tmp_path) == 0
    printed = capsys.readouterr().out
    assert [line.split() for line in printed.splitlines() if "µs" in line] == [["one", "2", "µs"]]
    assert f"There is no baseline of {PROCESSOR}" in printed
    assert "--keep writes one" in printed


def test_what_is_slower_than_the_baseline_by_half_fails_and_each_verdict_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = result(tmp_path / "kept.json", same=1e-6, slow=1e-6, fast=3e-6)
    assert main([str(kept), "--keep"], tmp_path) == 0
    assert baseline_of(PROCESSOR, tmp_path).name == "amd-epyc-7b13-64-cores.json"
    capsys.readouterr()
    assert main([str(kept)], tmp_path) == 0

    assert main([str(result(tmp_path / "now.json", same=1.4e-6, slow=1.6e-6, fast=1e-6, more=1e-6))], tmp_path) == 1
    same, slow, fast, more = capsys.readouterr().out.splitlines()[-6:-2]
    assert same.endswith("1.4 µs")
    assert slow.endswith("SLOWER: 1.6 times as long as 1 µs")
    assert fast.endswith("faster: 3.0 times as fast as 3 µs")
    assert more.endswith("new")


def test_what_is_no_result_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "quick.json").write_text("{}")
    assert main([str(tmp_path / "quick.json")], tmp_path) == 2
    assert "no result of `make bench-quick`" in capsys.readouterr().err


def test_a_picture_has_each_piece_of_work(tmp_path: Path) -> None:
    picture = tmp_path / "pictures/quick.svg"
    assert main([str(result(tmp_path / "q.json", one=1e-6, two=2e-6)), "--picture", str(picture)], tmp_path) == 0
    assert "append: two" in picture.read_text()


def test_names_are_told_once_and_baselines_know_no_others() -> None:
    names = [f"{work.group}: {work.name}" for work in WORKS]
    assert len(set(names)) == len(names)
    for path in BASELINES.glob("*.json"):
        assert json.loads(path.read_text())["seconds"].keys() <= set(names)
