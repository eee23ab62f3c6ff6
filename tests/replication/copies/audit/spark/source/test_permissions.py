"""What this user may not read is named with what to do, whatever is read and in which mode."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from replication.audit import UnreadableLocationError, ending_offsets
from replication.base.errors import ACCESS_ADVICE
from tests.replication.copies.audit.snapshot_roots import batches, write_root
from tests.replication.copies.audit.spark.source.planned import Planned

NOBODY = 65_534
READS = [
    *(
        {"rows": rows, "mode": mode}
        for rows in ("records", "batches", "segments", "epochs")
        for mode in ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
    ),
    {"rows": "records", "failOnDataLoss": "true"},
    {"rows": "records", "isolation": "read_committed"},
    {"rows": "batches", "where": "offset > 4"},
]


@pytest.fixture
def root() -> Iterator[Path]:
    """A root that everybody reaches."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield write_root(Path(place) / "a", {"t-0": batches(3), "u-0": batches(1)})


@contextmanager
def denied(path: Path) -> Iterator[None]:
    """Let nobody read a file or a directory, and be nobody."""
    mode = path.stat().st_mode
    path.chmod(0)
    user = os.geteuid()
    if not user:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
        path.chmod(mode)


@pytest.mark.parametrize("options", READS, ids=lambda each: "-".join(each.values()))
@pytest.mark.parametrize("name", ["t-0/00000000000000000000.log", "t-0", ""])
def test_what_may_not_be_read_is_named_with_what_to_do(name: str, options: dict[str, str], root: Path) -> None:
    assert Planned(root, **options).rows()

    with denied(root / name), pytest.raises(UnreadableLocationError) as refused:
        Planned(root, **options).rows()

    assert str(refused.value) == f"{(root / name)}: Permission denied; {ACCESS_ADVICE}"
    assert refused.value.__cause__ is None


def test_what_is_not_asked_for_may_be_unreadable(root: Path) -> None:
    with denied(root / "t-0"):
        assert {row["topic"] for row in Planned(root, topics="u").rows()} == {"u"}
        assert "u" in ending_offsets(root, {"topics": "u"})


def test_of_directories_that_are_named_one_by_one_each_is_looked_at(root: Path) -> None:
    assert {row["topic"] for row in Planned(root / "t-0", root / "u-0").rows()} == {"t", "u"}
    with denied(root / "u-0"), pytest.raises(UnreadableLocationError, match=ACCESS_ADVICE):
        Planned(root / "t-0", root / "u-0").rows()


@pytest.mark.parametrize("pattern", ["a*", "a/t*"])
def test_a_directory_that_may_not_be_listed_for_a_pattern_is_named(pattern: str, root: Path) -> None:
    place = root.parent if pattern == "a*" else root
    with denied(place), pytest.raises(UnreadableLocationError, match=ACCESS_ADVICE):
        Planned(root.parent / pattern).rows()


def test_an_end_of_what_may_not_be_read_is_refused(root: Path) -> None:
    with denied(root / "t-0"), pytest.raises(UnreadableLocationError, match=ACCESS_ADVICE):
        ending_offsets(root)
