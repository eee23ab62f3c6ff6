from pathlib import Path

from tests.open_files import open_files


def test_files_below_a_place_are_named_once_for_each_descriptor_and_no_others(tmp_path: Path) -> None:
    place, beside = tmp_path / "place", tmp_path / "place-beside"
    for directory in (place, beside):
        directory.mkdir()
    with (place / "kept").open("w"), (place / "kept").open(), (place / "gone").open("w"), (beside / "other").open("w"):
        (place / "gone").unlink()
        kept = str(place.resolve() / "kept")
        assert sorted(open_files(place)) == [f"{place.resolve() / 'gone'} (deleted)", kept, kept]
    assert open_files(place) == []
