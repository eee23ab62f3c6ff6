"""Patterns in paths name the directories that a shell's name, on a disk and in an object store."""

import glob
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.base.errors import NotAllowedError, UnreadableLocationError
from replication.copies.audit.snapshots.path_globs import MOST_ALTERNATIVES, matching
from replication.copies.audit.snapshots.storage import Storage
from tests.replication.copies.audit.loopback_store import LoopbackStore

DIRECTORIES = ["b1", "b2", "b10", "b1/data", "b2/data", "b10/data-0", ".b3", "a{1,2}", "w[x]", "c=1"]
NAMES = ["b*", "*", "b?", "b[12]", "b[^1]", "b1", ".*", "w*", "data", "data*", "[!a-c]*", "*1*"]
CHOICES = {"{b1,b2}": ["b1", "b2"], "b{1{,0},2}": ["b1", "b10", "b2"], "{data,data-*}": ["data", "data-*"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("globs")
    for name in DIRECTORIES:
        (place / name).mkdir(parents=True, exist_ok=True)
        (place / name / "file").write_bytes(b"x")
    (place / "lost+found").mkdir()
    return place


def by_shell(place: Path, parts: list[str]) -> set[str]:
    """What Python's own glob finds of directories, each choice written out."""
    patterns = [""]
    for part in parts:
        patterns = [f"{before}/{each}" for before in patterns for each in CHOICES.get(part, [part])]
    patterns = [pattern.replace("[^", "[!") for pattern in patterns]
    found = [place / each for pattern in patterns for each in glob.glob(f".{pattern}", root_dir=place)]  # noqa: PTH207
    return {str(each) for each in found if each.is_dir() and each.name != "lost+found"}


@given(parts=st.lists(st.sampled_from([*NAMES, *CHOICES]), min_size=1, max_size=2), end=st.sampled_from(["", "/"]))
def test_a_pattern_names_what_a_shells_does(place: Path, parts: list[str], end: str) -> None:
    pattern = f"{place}/{'/'.join(parts)}{end}"
    expected = by_shell(place, parts)

    if not expected and any(part in CHOICES or set("*?[") & set(part) for part in parts):
        with pytest.raises(UnreadableLocationError):
            matching([pattern])
        return

    found = matching([pattern])
    assert {each.rstrip("/") for each in found} == (expected or {pattern.rstrip("/")})
    assert len(found) == len(set(found))


def test_what_is_there_under_the_very_name_is_meant_by_it(place: Path) -> None:
    for name in ("a{1,2}", "w[x]", "c=1"):
        assert matching([f"{place}/{name}"]) == [f"{place}/{name}"]
    assert matching([f"old={place}/w[x]"]) == [f"old={place}/w[x]"]


def test_each_match_has_the_name_that_is_given(place: Path) -> None:
    assert matching([f"old={place}/b2*"]) == [f"old={place}/b2"]


def test_a_path_from_here_is_looked_for_here(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert matching(["b*/data"]) == ["b1/data", "b2/data"]
    assert matching(["[c]*"]) == ["c=1"]


def test_a_store_is_asked_level_by_level(place: Path) -> None:
    with LoopbackStore(place).running() as store:
        found = matching([store.address("b{1,2}/d*a"), f"old={store.address('b10/data-[0-9]')}"])
        assert found == [store.address("b1/data"), store.address("b2/data"), f"old={store.address('b10/data-0')}"]
        with pytest.raises(
            UnreadableLocationError, match=r"s3://backups/x.*no directory matches this pattern"
        ) as refused:
            matching([store.address("x*")])
    assert "secret" not in str(refused.value)


def test_a_pattern_is_not_written_out_without_end(tmp_path: Path) -> None:
    with pytest.raises(NotAllowedError, match=f"{MOST_ALTERNATIVES:,} choices"):
        matching([f"{tmp_path}/{'{a,b}' * 400}"])


def test_what_may_not_be_listed_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnreadableLocationError, match="Not a directory"):
        matching([f"{tmp_path}/file/*"])


@pytest.mark.parametrize("of_store", [False, True])
def test_a_choice_that_leads_to_no_directory_leaves_the_others(place: Path, *, of_store: bool) -> None:
    with LoopbackStore(place).running() as store:
        above = store.address("{}").format if of_store else f"{place}/{{}}".format
        assert matching([above("{b1,none}/d*")]) == [above("b1/data")]


def test_names_in_a_store_have_any_signs(tmp_path: Path) -> None:
    for name in ("day=00%3A00", "day=00:00", "two words"):
        (tmp_path / name / "t-0").mkdir(parents=True)
        (tmp_path / name / "t-0/file").write_bytes(b"x")
    with LoopbackStore(tmp_path).running() as store:
        found = matching([store.address("day=*"), store.address("two%20w*")])
        assert found == [store.address(name) for name in ("day=00%253A00", "day=00:00", "two words")]
        assert [Storage(uri).directories() for uri in found] == [["t-0"]] * 3


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(UnreadableLocationError, match=r"^s3://\*\*\*@b\[1-3\]/x: "):
        matching(["s3://keykeykey:secret@b[1-3]/x"])
