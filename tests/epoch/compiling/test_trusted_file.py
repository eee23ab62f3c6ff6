"""What is executed once it is read is read only where nobody else can have written it."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from epoch.compiling.trusted_file import UntrustedFileError, ensure_trusted_directory, read_trusted
from tests.open_files import open_files

NOBODY = 65_534
IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")


@pytest.fixture
def way(tmp_path: Path) -> Path:
    """Return a directory for caches, in which there is one with a file."""
    place = tmp_path / "place"
    (place / "code").mkdir(parents=True)
    (place / "code").chmod(0o700)
    place.chmod(0o700)
    (place / "code/file").write_bytes(b"content")
    (place / "code/file").chmod(0o600)
    return place


def read(place: Path) -> bytes:
    return read_trusted(place / "code/file", below=place)


def test_what_the_user_alone_can_write_is_read(way: Path) -> None:
    assert read(way) == b"content"
    ensure_trusted_directory(way / "code", below=way)


@pytest.mark.parametrize("mode", [0o755, 0o500, 0o711])
def test_others_may_read(way: Path, mode: int) -> None:
    (way / "code").chmod(mode)
    (way / "code/file").chmod(mode & ~0o111 | 0o400)
    way.chmod(mode)
    assert read(way) == b"content"


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777, 0o2775])
@pytest.mark.parametrize("name", ["code", "code/file"])
def test_what_others_can_write_is_refused(way: Path, name: str, mode: int) -> None:
    (way / name).chmod(mode)
    with pytest.raises(UntrustedFileError, match="other users may write it") as refused:
        read(way)
    assert (refused.value.filename, stat.S_IMODE((way / name).stat().st_mode)) == (str(way / name), mode)


@pytest.mark.parametrize("mode", [0o702, 0o777, 0o2777])
def test_a_way_on_which_others_can_rename_is_refused(way: Path, mode: int) -> None:
    way.chmod(mode)
    with pytest.raises(UntrustedFileError, match="other users may rename what is in it"):
        read(way)
    with pytest.raises(UntrustedFileError):
        ensure_trusted_directory(way / "code", below=way)
    assert read_trusted(way / "code/file") == b"content", "where nobody asks how it was come by"


def test_a_sticky_directory_on_the_way_keeps_others_from_renaming(way: Path) -> None:
    way.chmod(0o1777)
    assert read(way) == b"content"


@as_root
@pytest.mark.parametrize(("group", "is_safe"), [(0, True), (NOBODY, False)])
def test_a_group_on_the_way_is_safe_where_it_is_the_user_s_own(way: Path, group: int, is_safe: bool) -> None:
    os.chown(way, 0, group)
    way.chmod(0o770)
    if is_safe:
        assert read(way) == b"content"
    else:
        with pytest.raises(UntrustedFileError, match="other users may rename what is in it"):
            read(way)


@as_root
@pytest.mark.parametrize("name", ["code/file", "code", ""])
def test_what_belongs_to_another_user_is_refused(way: Path, name: str) -> None:
    os.chown(way / name, NOBODY, NOBODY)
    with pytest.raises(UntrustedFileError, match=f"it belongs to user {NOBODY}, not to 0") as refused:
        read(way)
    assert refused.value.filename == str(way / name)


@as_root
def test_what_belongs_to_root_is_read_by_others_and_what_belongs_to_others_is_not(way: Path, as_nobody: None) -> None:
    del as_nobody
    assert read(way) == b"content"
    own = way.parent / "shared/own"
    own.mkdir(mode=0o700)
    (own / "file").write_bytes(b"mine")
    assert read_trusted(own / "file", below=own.parent) == b"mine"


@pytest.fixture
def as_nobody(way: Path) -> Iterator[None]:
    """Go on as another user than root, to whom all is readable and who may make directories in `shared`."""
    for each in (way, way / "code"):
        each.chmod(0o755)
    (way / "code/file").chmod(0o644)
    (way.parent / "shared").mkdir()
    (way.parent / "shared").chmod(0o1777)
    closed = [each for each in (way.parent, *way.parents) if not each.stat().st_mode & stat.S_IXOTH]
    modes = [each.stat().st_mode for each in closed]
    for each in closed:
        each.chmod(0o711)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        for each, mode in zip(closed, modes, strict=True):
            each.chmod(mode)


def link_file(place: Path) -> None:
    (place / "code/file").rename(place / "code/other")
    (place / "code/file").symlink_to("other")


def link_directory(place: Path) -> None:
    (place / "code").rename(place / "other")
    (place / "code").symlink_to("other")


@pytest.mark.parametrize("link", [link_file, link_directory])
def test_links_are_not_followed(way: Path, link: Callable[[Path], None]) -> None:
    link(way)
    with pytest.raises(UntrustedFileError, match="it is a symbolic link"):
        read(way)


def test_the_user_s_own_link_on_the_way_is_followed(way: Path) -> None:
    link = way.parent / "link"
    link.symlink_to(way)
    assert read(link) == b"content"
    way.chmod(0o777)
    with pytest.raises(UntrustedFileError, match="other users may rename"):
        read(link)


@as_root
def test_a_link_on_the_way_that_another_user_laid_is_refused(way: Path) -> None:
    link = way.parent / "link"
    link.symlink_to(way)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(UntrustedFileError, match=f"it belongs to user {NOBODY}"):
        read(link)


def test_what_is_no_file_is_refused_without_waiting(way: Path) -> None:
    (way / "code/file").unlink()
    os.mkfifo(way / "code/file", 0o600)
    with pytest.raises(OSError, match="it is no file"):
        read(way)


def test_what_is_no_directory_is_refused(way: Path) -> None:
    with pytest.raises(NotADirectoryError):
        ensure_trusted_directory(way / "code/file")


def test_no_descriptor_is_left_open(way: Path) -> None:
    read(way)
    ensure_trusted_directory(way / "code")
    (way / "code").chmod(0o777)
    for refused in (lambda: read(way), lambda: ensure_trusted_directory(way / "code")):
        with pytest.raises(UntrustedFileError):
            refused()
    assert not open_files(way)


@pytest.mark.parametrize("missing", ["code/file", "code", ""])
def test_what_is_missing_is_missing(way: Path, missing: str) -> None:
    (way / missing).rename(way.parent / "away")
    with pytest.raises(FileNotFoundError):
        read(way)
