"""`--share`: what leaves the machine shows neither contents of records nor where the copies are, and whose."""

import shlex
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from logstore.shown_text import shown
from replication.cli.judging.disguise import Disguise
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cli.planted import planted_copies, shown_in, shown_in_files
from tests.replication.copies.quorum_recovery.kept_quorums import KEPT, controllers

WHERE: Final = "planted-place"
"""Is in all paths, and in the names of copies."""


def place_shown(output: str) -> bool:
    return WHERE in output or str(Path.cwd()) in output


def files_in(place: Path) -> str:
    return "".join(path.read_text() for path in sorted(place.iterdir()) if path.suffix in {".html", ".jsonl", ".prom"})


def named_copies(directory: Path) -> list[Path]:
    """Planted copies whose paths and names are recognizable, with a blank and a quote in them."""
    roots = planted_copies(directory / f"{WHERE} of o'neill")
    return [root.rename(root.with_name(f"{WHERE}-{number}.example.com")) for number, root in enumerate(roots, 1)]


def seen(outcome: Outcome) -> str:
    """What is passed on: the messages on standard error stay on the terminal."""
    return outcome.out


@pytest.mark.parametrize("as_json", [(), ("--json",)])
@pytest.mark.parametrize("command", ["audit", "incident"])
def test_a_shared_page_names_no_contents_and_no_places(command: str, as_json: tuple[str, ...], tmp_path: Path) -> None:
    roots = named_copies(tmp_path)
    for name, share in (("plain", ()), ("shared", ("--share",))):
        place = tmp_path / name
        place.mkdir()
        files = ["--report", place / "audit.html"]
        if command == "audit":
            files += ["--metrics", place / "audit.prom", "--differences", place / "differences.jsonl"]
        else:
            files += ["--verbose"]
        outcome = epochlog(command, *roots, *files, *as_json, *share)
        assert place_shown(seen(outcome)) is (name == "plain")
        assert place_shown(files_in(place)) is (name == "plain")
        assert bool(shown_in(outcome.out + outcome.err)) is (name == "plain")
        assert bool(shown_in_files(place)) is (name == "plain")
        if name == "shared":
            assert "copy-1" in seen(outcome)
            assert "copy-2" in files_in(place)
            assert "/copy-2/t-0" in files_in(place), "commands are still told apart"
        assert ("Made to be passed on" in files_in(place)) is (name == "shared")


def test_what_stays_visible_is_what_the_help_says(tmp_path: Path) -> None:
    roots = named_copies(tmp_path)
    plain, shared = (epochlog("audit", *roots, "--json", *share).document for share in ((), ("--share",)))
    assert "Still visible: names of topics, offsets" in " ".join(epochlog("audit", "--help").out.split())

    def visible(document: dict[str, Any]) -> list[object]:
        return [
            [each["topic"], each["verdict"], [pair["truncate_to"] for pair in each["pairs"]]]
            + [[branch["log_end_offset"], branch["bytes"], branch["lineage"]] for branch in each["branches"]]
            for each in document["partitions"]
        ]

    assert visible(shared) == visible(plain)
    assert places(shared) == places(plain)


def places(document: dict[str, Any]) -> list[tuple[object, ...]]:
    return [(each["kind"], each["topic"], each["offset"]) for each in document["findings"]]


def changed(quorum: dict[str, Any], subject: str) -> list[str]:
    """Name what controllers' copies say differently of a subject."""
    found = [each for copy in quorum["copies"] for each in copy["differences"] or ()]
    return [each["name"] for each in found if each["subject"] == subject]


def test_trends_name_no_copy_of_any_run(tmp_path: Path) -> None:
    roots = named_copies(tmp_path)
    page = tmp_path / "trends.html"
    history = ("--history", tmp_path / "history")
    epochlog("audit", *roots, *history)
    log = roots[1] / f"t-0/{0:020d}.log"
    log.write_bytes(log.read_bytes()[:-1])
    outcome = epochlog("audit", *roots, *history, "--trends", page, "--share", "--json")
    assert outcome.document["history"]["new"]
    assert not place_shown(outcome.out)
    assert not place_shown(page.read_text())
    assert "copy-" in page.read_text()
    kept = [path.read_bytes() for path in (tmp_path / "history").rglob("*") if path.is_file()]
    assert WHERE.encode() in b"".join(kept), "the history stays here, and is compared with the next run"


def test_copies_from_before_a_recovery_lie_elsewhere(tmp_path: Path) -> None:
    before = named_copies(tmp_path / "before")
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    after = [tmp_path / "after" / root.relative_to(tmp_path / "before") for root in before]
    earlier = [part for root in before for part in ("--before", root)]
    outcome = epochlog("incident", *after, *earlier, "--share", "--json")
    assert not place_shown(outcome.out)
    assert outcome.document["recovery"]


def test_advice_on_controllers_names_no_hosts_users_and_settings(tmp_path: Path) -> None:
    roots = []
    for node, root in controllers(KEPT[False]).items():
        roots.append(shutil.copytree(root, tmp_path / f"{WHERE}-{node}"))
    plain = epochlog("incident", *roots, "--json").document["quorum"]
    shared = epochlog("incident", *roots, "--json", "--share")
    advice = epochlog("advise", *roots, "--json", "--mask", "values").document["quorum"]
    settings, topics = changed(plain, "configuration"), changed(plain, "topic")
    assert settings
    assert topics
    assert not place_shown(shared.out)
    for masked in (shared.document["quorum"], advice):
        assert changed(masked, "topic") == topics
        assert len(changed(masked, "configuration")) == len(settings)
        assert all(name.startswith("masked:") for name in changed(masked, "configuration"))


def test_tables_are_refused_as_they_name_files(tmp_path: Path) -> None:
    outcome = epochlog("audit", *named_copies(tmp_path), "--output", tmp_path / "tables", "--share")
    assert outcome.status == 2
    assert "the tables name files and copies" in outcome.err


DOCUMENT: Final[dict[str, Any]] = {
    "snapshots": [
        {"name": "b1", "roots": ["/data/b1"]},
        {"name": "b10", "roots": ["/data/b10"]},
        {"name": "kafka", "roots": ["/disks/eins", "s3://bucket/zwei"]},
    ],
    "live": {"bootstrap": "kafka-7:9092,[fd00::7]:9092,broker.example.com:9092"},
    "history": {"new": ["gone-broker: error corrupt-batch in t-0"], "gone": []},
}


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("b1 leads, b10 follows", "copy-1 leads, copy-2 follows"),
        ("/data/b10/t-0/7.log: torn", "/copy-2/t-0/7.log: torn"),
        ("cp -a /data/b1 /data/b1.kept", "cp -a /copy-1 /copy-1.kept"),
        ("--log-dir 1=/data/b1", "--log-dir 1=/copy-1"),
        ("/data/b1-old was left", "PATH was left"),
        ("s3://bucket/zwei/t-0 and s3://other/place", "/copy-3/disk-2/t-0 and PATH"),
        ("kafka/zwei has it too", "copy-3/disk-2 has it too"),
        ("see '/home/mary smith/logs'", "see 'PATH'"),
        ("cannot write /home/mary/a.html: disk full", "cannot write PATH: disk full"),
        ("kafka-7 does not answer at kafka-7:9092", "HOST does not answer at HOST:9092"),
        ("node.example.org:9093 and 10.1.2.3:9092 and [fd00::8]:1", "HOST:9093 and HOST:9092 and HOST:1"),
        ("gone-broker: error corrupt-batch in t-0", "copy-4: error corrupt-batch in t-0"),
        ("offsets 300..419, 07:55:55 UTC, 1/2 and/or 3", "offsets 300..419, 07:55:55 UTC, 1/2 and/or 3"),
        ("b1x, xb1, b1-x and -b1 are other names", "b1x, xb1, b1-x and -b1 are other names"),
    ],
)
def test_other_words_for_names_and_places(text: str, shared: str) -> None:
    disguise = Disguise.of(DOCUMENT)
    assert disguise.text(text) == shared
    assert disguise.text(shared) == shared, "what is shared already stays as it is"


def test_paths_with_blanks_and_quotes_are_found_in_each_form(tmp_path: Path) -> None:
    place = tmp_path / "mary's own" / "\x1b[0m logs"
    place.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(place)
    disguise = Disguise.of({"snapshots": [{"name": "b\x1b", "roots": [str(link)]}], "live": None, "history": None})
    disguise.take_in_paths([tmp_path / "to mary" / "audit.html", "a", None])
    for text, shared in (
        (f"{link}/t-0", "/copy-1/t-0"),
        (f"{place}/t-0: torn", "/copy-1/t-0: torn"),
        (f"{shown(str(place))}/t-0: torn", "/copy-1/t-0: torn"),
        (f"cp -a {shlex.quote(str(place))} x", "cp -a '/copy-1' x"),
        (f"{place.parent} is full", "PATH is full"),
        ("a path is a path", "a path is a path"),
        (f"--report {tmp_path}/to mary/audit.html was not written", "--report PATH was not written"),
        ("b\x1b: \\x1b, b\\x1b", "copy-1: \\x1b, copy-1"),
    ):
        assert disguise.text(text) == shared


def test_topics_keep_their_names_in_documents() -> None:
    disguise = Disguise.of(DOCUMENT)
    assert disguise.document({"topic": "b1", "replica": "b1", "offset": 3, "of": [None, ("b10",)]}) == {
        "topic": "b1",
        "replica": "copy-1",
        "offset": 3,
        "of": [None, ["copy-2"]],
    }
