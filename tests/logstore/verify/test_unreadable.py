"""What may not be read is reported as that: it is no damage, and what depends on it is not judged."""

import builtins
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify import Finding, verify_root
from tests.logstore.verify.no_files import NO_FILES
from tests.logstore.verify.sound_root import ROOT_FILES, source

PARTITIONS = ("orders-2", "compacted-0", "txns-0")
Refuse = Callable[[Path], None]


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Let a file be as one that belongs to somebody else."""
    refused: set[str] = set()
    real = builtins.open

    def open_unless_refused(file: Any, *arguments: Any, **options: Any) -> IO[Any]:
        if str(file) in refused:
            raise PermissionError(13, "Permission denied", str(file))
        return real(file, *arguments, **options)

    monkeypatch.setattr(builtins, "open", open_unless_refused)
    return lambda path: refused.add(str(path))


def files() -> list[str]:
    return [f"{name}/{file.name}" for name in PARTITIONS for file in sorted((source() / name).iterdir())]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A broker's root with partitions that have every kind of file among them, and the root's files beside them."""
    place = tmp_path / "broker-1"
    for name in PARTITIONS:
        shutil.copytree(source() / name, place / name)
    for name in ROOT_FILES:
        shutil.copy(source() / name, place)
    return place


def found(root: Path) -> list[Finding]:
    return [
        each for each in verify_root(OfflineLogDirectory.open(root), records=True) if each.kind != "partition-missing"
    ]


@pytest.mark.parametrize("name", [*ROOT_FILES, *files()])
def test_a_file_that_may_not_be_read_is_the_only_finding(name: str, root: Path, refuse: Refuse) -> None:
    assert found(root) == []
    refuse(root / name)
    findings = found(root)
    assert [(each.kind, each.file) for each in findings] == [("file-unreadable", Path(name).name)]
    assert "Permission denied" in findings[0].message


@pytest.mark.parametrize("put", NO_FILES)
@pytest.mark.parametrize("name", [name for name in files() if name.endswith(".log")])
def test_a_log_that_is_no_file_is_the_only_finding(name: str, put: Callable[[Path], None], root: Path) -> None:
    (root / name).unlink()
    put(root / name)
    [finding] = found(root)
    assert finding.kind in {"not-a-file", "link-leaves-root"}
    assert finding.file == Path(name).name


def test_nothing_is_held_against_a_log_whose_files_may_not_be_read(root: Path, refuse: Refuse) -> None:
    for name in ("compacted-0", "txns-0"):
        shutil.rmtree(root / name)
    logs = sorted((root / "orders-2").glob("*.log"))
    for log in logs[1:]:
        refuse(log)
    assert [each.file for each in found(root)] == [log.name for log in logs[1:]]
