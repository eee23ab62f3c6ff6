"""`--mask`: what is in records is shown by no command, in no form; without it those show it that are to."""

from base64 import b64encode
from pathlib import Path
from typing import Final

import pytest

from logstore.offline.log_file import LogFile
from replication.cli.dumping import log_dump
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cli.planted import PLANTED, forms, planted_copies, shown_in, shown_in_files
from tests.replication.copies.quorum_recovery.kept_quorums import KEPT, controllers, went_on

MASK: Final = ("--mask", "keys,values")
LOG: Final = f"t-0/{0:020d}.log"


def shown(outcome: Outcome) -> set[bytes]:
    return shown_in(outcome.out + outcome.err)


@pytest.mark.parametrize("form", sorted(forms()))
def test_the_search_finds_each_form(form: bytes) -> None:
    assert shown_in(b"before " + form + b" behind") == {form}


@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"abc"])
def test_the_search_finds_base64_wherever_the_content_begins(before: bytes) -> None:
    assert shown_in(b64encode(before + PLANTED + b"behind it"))


@pytest.mark.parametrize("masking", [MASK, (*MASK, "--mask-as", "length")])
@pytest.mark.parametrize("as_json", [(), ("--json",)])
@pytest.mark.parametrize("small_log", [0, log_dump.SMALL_LOG])
def test_a_dump_shows_no_contents(
    masking: tuple[str, ...],
    as_json: tuple[str, ...],
    small_log: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_dump, "SMALL_LOG", small_log)
    roots = planted_copies(tmp_path)
    plain = epochlog("dump", *roots, "--records", *as_json)
    masked = epochlog("dump", *roots, "--records", *as_json, *masking)
    assert shown(plain)
    assert not shown(masked)
    assert "masked:" in masked.out
    assert (masked.status, len(masked.out.splitlines())) == (plain.status, len(plain.out.splitlines()))


def test_a_dump_keeps_sizes_and_that_there_is_nothing(tmp_path: Path) -> None:
    [kept, _] = planted_copies(tmp_path)
    lines = epochlog("dump", kept / "t-0", "--records", *MASK).out.splitlines()
    record = next(line for line in lines if line.startswith("| "))
    assert "key_size: 19 value_size: 19 headers: [masked:" in record
    assert ": null]" in record
    batch = next(line for line in lines if "base_offset" in line)
    assert " crc: null " in batch


def test_a_dump_masks_what_is_named(tmp_path: Path) -> None:
    [kept, _] = planted_copies(tmp_path)
    keys, values = (
        epochlog("dump", kept / LOG, "--records", "--offsets", "0:1", "--mask", part).out.splitlines()[-1]
        for part in ("keys", "values")
    )
    assert " key: masked:" in keys
    assert PLANTED.decode() in keys.partition(" key: ")[2]
    assert " value: masked:" in values
    assert values.count(PLANTED.decode()) == 1, "the key"


def test_what_is_written_to_parquet_shows_no_contents(tmp_path: Path) -> None:
    [kept, _] = planted_copies(tmp_path / "copies")
    plain, masked = tmp_path / "plain.parquet", tmp_path / "masked.parquet"
    assert epochlog("dump", kept / "t-0", "--output", plain).status == 0
    assert epochlog("dump", kept / "t-0", "--output", masked, *MASK).status == 0
    assert shown_in_files(plain)
    assert not shown_in_files(masked)


def test_one_salt_gives_one_mask_in_several_runs_and_none_another_in_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [kept, _] = planted_copies(tmp_path / "copies")
    salt = tmp_path / "salt"
    salt.write_text("3f9c1b2a4d5e6f708192a3b4c5d6e7f8\n")
    dump = ("dump", kept / "t-0", "--records", *MASK)
    salted = epochlog(*dump, "--mask-salt", salt).out
    assert epochlog(*dump, "--mask-salt", salt).out == salted
    random = [epochlog(*dump).out for _ in range(2)]
    assert len({salted, *random}) == 3
    monkeypatch.setenv("EPOCHLOG_MASK_SALT", salt.read_text().strip())
    assert epochlog(*dump).out == salted
    assert salt.read_text().strip() not in salted


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--mask", "headers"), "'headers' is none of keys, values, and keys,values"),
        (("--mask", "keys,keys"), "'keys,keys' is none of"),
        (("--mask-as", "length"), "nothing is masked"),
        (("--mask-salt", "salt"), "nothing is masked"),
        ((*MASK, "--mask-as", "length", "--mask-salt", "salt"), "a length has no salt"),
        ((*MASK, "--mask-salt", "nowhere"), "nowhere: No such file"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    [kept, _] = planted_copies(tmp_path)
    outcome = epochlog("dump", kept / "t-0", "--records", *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert complaint in outcome.err


def test_a_salt_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    [kept, _] = planted_copies(tmp_path / "copies")
    (tmp_path / "salt").write_text("pepper\n")
    outcome = epochlog("dump", kept / "t-0", "--records", *MASK, "--mask-salt", tmp_path / "salt")
    assert (outcome.status, outcome.out) == (2, "")
    assert "has a salt of 6 bytes; give at least 16" in outcome.err
    assert "pepper" not in outcome.err


def test_a_mask_of_nothing_that_is_shown_is_refused(tmp_path: Path) -> None:
    [kept, _] = planted_copies(tmp_path)
    outcome = epochlog("dump", kept / "t-0", *MASK)
    assert outcome.status == 2
    assert "without --records and --output no contents are shown" in outcome.err


@pytest.mark.parametrize("target", [None, "lost.jsonl", "lost.parquet", "lost"])
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_a_salvage_shows_and_writes_no_contents(target: str | None, as_json: tuple[str, ...], tmp_path: Path) -> None:
    roots = planted_copies(tmp_path / "copies")
    plain, masked = (tmp_path / name for name in ("plain", "masked"))
    outcomes = []
    for place, masking in ((plain, ()), (masked, MASK)):
        place.mkdir()
        to = ("--dry-run",) if target is None else ("--output", place / target)
        outcomes.append(epochlog("salvage", *roots, "--kept", "broker-0", *to, *as_json, *masking))
    assert outcomes[0].status == outcomes[1].status
    assert shown(outcomes[0])
    assert not shown(outcomes[1])
    if target is not None:
        assert shown_in_files(plain)
        assert not shown_in_files(masked)


def test_masked_records_are_a_log_with_right_checksums(tmp_path: Path) -> None:
    roots = planted_copies(tmp_path / "copies")
    outcome = epochlog("salvage", *roots, "--kept", "broker-0", "--output", tmp_path / "lost", *MASK)
    assert f"Written to {tmp_path / 'lost'}, masked: not to be put back." in " ".join(outcome.out.split())
    assert epochlog("verify", tmp_path / "lost", "--records").status == 0
    with LogFile.open(tmp_path / f"lost/{LOG}") as log:
        values = [record.value for batch in log.batches() for record in batch.records()]
    assert values
    assert all(value is not None and value.startswith(b"masked:") for value in values)


def test_masked_records_are_not_put_back_into_a_cluster(tmp_path: Path) -> None:
    roots = planted_copies(tmp_path)
    outcome = epochlog("salvage", *roots, "--kept", "broker-0", "--produce", "127.0.0.1:1", *MASK)
    assert (outcome.status, outcome.out) == (2, "")
    assert "masked records are not to be put back" in outcome.err


@pytest.mark.parametrize("command", ["audit", "incident"])
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_an_audit_shows_and_writes_no_contents(command: str, as_json: tuple[str, ...], tmp_path: Path) -> None:
    roots = planted_copies(tmp_path / "copies")
    for name, masking in (("plain", ()), ("masked", MASK)):
        place = tmp_path / name
        place.mkdir()
        files = ["--report", place / "audit.html"]
        if command == "audit":
            files += ["--output", place / "tables", "--metrics", place / "audit.prom", "--history", place / "history"]
            files += ["--trends", place / "trends.html"]
        outcome = epochlog(command, *roots, *files, *as_json, *masking)
        assert bool(shown(outcome)) is (name == "plain")
        assert bool(shown_in_files(place)) is (name == "plain")


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_differences_between_copies_show_no_contents(suffix: str, tmp_path: Path) -> None:
    roots = planted_copies(tmp_path / "copies")
    for name, masking in (("plain", ()), ("masked", MASK)):
        file = (tmp_path / name).with_suffix(suffix)
        epochlog("audit", *roots, "--differences", file, *masking)
        assert bool(shown_in_files(file)) is (name == "plain")


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_records_of_the_clusters_metadata_are_not_explained(as_json: tuple[str, ...]) -> None:
    root = controllers(KEPT[True])[went_on(KEPT[True])[0]]
    dump = ("dump", root / "__cluster_metadata-0", "--records", *as_json)
    plain, masked = epochlog(*dump).out, epochlog(*dump, "--mask", "values").out
    for told in ("127.0.0.1", "CONFIG_RECORD", "PARTITION_RECORD"):
        assert (told in plain, told in masked) == (True, False)
    assert len(masked.splitlines()) == len(plain.splitlines())
