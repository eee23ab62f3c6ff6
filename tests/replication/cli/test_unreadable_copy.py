"""A copy that could not be read: that is told first, and no sentence comforts about its partition."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.data.replicas import replicas
from tests.logstore.verify.no_files import NO_FILES
from tests.replication.cli.command import epochlog

NOBODY = 65_534
COMFORTING = ("nothing that another copy", "least is lost under", "nothing is lost", "any replica may lead")


@pytest.fixture
def brokers() -> Iterator[list[Path]]:
    """Three brokers' copies where any user may look."""
    with tempfile.TemporaryDirectory() as place:
        root = shutil.copytree(replicas("diverged"), Path(place) / "diverged")
        for path in (Path(place), *root.rglob("*")):
            path.chmod(0o755)
        yield sorted(root.iterdir())


@contextmanager
def unreadable(directory: Path) -> Iterator[None]:
    """Let nobody read a directory, and be nobody."""
    is_root = os.geteuid() == 0
    directory.chmod(0)
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        directory.chmod(0o755)


@pytest.mark.parametrize(
    "words", [["incident", "--verbose"], ["incident"], ["advise"], ["audit", "--workers", "0"]], ids=" ".join
)
def test_it_is_told_first_and_no_sentence_comforts(words: list[str], brokers: list[Path]) -> None:
    command, *options = words
    epochlog(command, *brokers, *options)  # loads what another user may not read
    with unreadable(brokers[0] / "diverge-0"):
        found = epochlog(command, *brokers, *options)
    assert found.status == 3
    text = " ".join(found.out.split())
    # The sentences of the partition end where the next one's, or what follows all of them, begin.
    told = text[text.index("diverge-0") :] if command == "incident" else found.out
    about = [line for line in told.splitlines() if "diverge-0" in line] if command != "incident" else [told]
    assert about
    for sentence in about:
        assert not [words for words in COMFORTING if words in sentence]
    if command == "incident":
        assert text.startswith("Not everything is known: a copy of 1 of 9 partitions could not be read.")
    if options == ["--verbose"]:
        assert told.startswith(
            "diverge-0: unknown The copy of broker-1 could not be read whole, or changed meanwhile: what it holds is "
            "not counted. If broker-2 leads, what is lost is not known."
        )


def test_without_it_the_same_sentences_say_what_is_lost(brokers: list[Path]) -> None:
    told = " ".join(epochlog("incident", *brokers, "--verbose").out.split())
    assert "least is lost under broker-1" in told[told.index("diverge-0: forked") :]


@pytest.mark.parametrize("words", [["verify"], ["audit", "--workers", "0"], ["incident"]], ids=" ".join)
def test_an_empty_meta_properties_is_named_and_its_copies_are_compared(words: list[str], brokers: list[Path]) -> None:
    command, *options = words
    of = brokers if command != "verify" else brokers[1:2]
    before = epochlog(command, *of, *options)
    (brokers[1] / "meta.properties").write_bytes(b"")
    found = epochlog(command, *of, *options)
    assert found.status == max(before.status, 1)
    told = " ".join(found.out.split())
    assert f"{brokers[1]}/meta.properties: the file is empty, so it has no node.id" in told
    assert "diverge-0" not in before.out or "diverge-0" in told


@pytest.mark.parametrize("words", [["verify"], ["audit", "--workers", "0"], ["incident"]], ids=" ".join)
@pytest.mark.parametrize("put", NO_FILES)
def test_of_a_log_that_is_no_file_no_offset_is_called_gone(
    put: Callable[[Path], None], words: list[str], brokers: list[Path]
) -> None:
    command, *options = words
    [log] = (brokers[1] / "codecs-0").glob("*.log")
    log.unlink()
    put(log)
    found = epochlog(command, *(brokers if command != "verify" else brokers[1:2]), *options)
    told = " ".join(found.out.split())
    assert "was not read" in told or "was not followed" in told
    assert "beyond the log's end" not in told
    assert "above the log's end" not in told
    assert "1,970" not in told
    if command == "audit":
        assert "codecs-0 unknown not known" in told
    if command == "incident":
        assert "codecs-0, unknown: not decided: the copy of broker-2 was not read, or not whole" in told
