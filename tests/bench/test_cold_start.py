"""What a first command lacks is told; `bench/bench_cold_start.py` runs real ones."""

import pytest

from bench import cold_start
from bench.cold_start import AUDIT, WORDS, rows


def test_without_room_commands_are_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_start, "lacking", lambda **wanted: f"no {' and '.join(wanted)}")
    found = list(rows(1, WORDS.__contains__))
    assert [(row.name, row.times, row.skipped) for row in found] == [(name, {}, "no disk and memory") for name in WORDS]


def test_without_java_only_the_audit_is_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cold_start, "without_java", lambda: "no Java was found")
    assert [name for name in WORDS if cold_start.missing(name)] == [AUDIT]
    assert cold_start.main(["--only", AUDIT]) == 0
    assert capsys.readouterr().out.split() == [*AUDIT.split(), "skipped:", "no", "Java", "was", "found"]
