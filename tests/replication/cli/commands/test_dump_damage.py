"""`epochlog dump` of what is damaged, hostile, or no file of Kafka's: what can be read, one line for the rest."""

import gzip
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from logstore.offline import tail_rereader
from logstore.offline.log_file import LogFile
from replication.base.errors import ACCESS_ADVICE
from replication.cli.dumping import log_dump
from tests.data.replicas import damage_kinds, damaged
from tests.logstore.batches import CONTROL, GZIP, ZSTD, batch, log, record, simple_batch
from tests.logstore.kernels.strategies import LOGS
from tests.logstore.kernels.strategies import damaged as damaged_bytes
from tests.replication.cli.command import epochlog
from tests.replication.cli.dumps import CODECS, dump_json, lines, written

# Damaged logs and files -------------------------------------------------------------------------------------------


@cache
def damaged_logs() -> dict[str, bytes]:
    """Logs with damage of every sort between sound batches."""
    sound, after = simple_batch(0, [b"a", b"b"]), simple_batch(5, [b"after"])
    bad_record = batch(records=[record(value=b"good"), record(offset_delta=1, length=99)], base_offset=2)
    flipped = bytearray(simple_batch(2, [b"flipped"]))
    flipped[-2] ^= 1
    return {
        "record": sound + bad_record + after,
        "checksum": sound + bytes(flipped) + after,
        "garbage": sound + b"\x07" * 100 + after,
        "torn": sound + after[:-1],
        "codec": sound + batch(section=b"junk", record_count=1, base_offset=2, attributes=ZSTD) + after,
        "unknown codec": sound + batch(section=b"junk", record_count=1, base_offset=2, attributes=7) + after,
        "bomb": sound + batch(section=bomb(), record_count=1, base_offset=2, attributes=GZIP) + after,
        "count": sound + batch(records=[record()], record_count=2**31 - 1, base_offset=2) + after,
        "control": sound + batch(records=[record(key=b"\x00")], base_offset=2, attributes=CONTROL) + after,
    }


def bomb() -> bytes:
    """80 KiB of gzip that would be 80 MiB."""
    return gzip.compress(bytes(80 << 20), 9)


@pytest.mark.parametrize("kernels", [False, True], ids=["plain", "kernels"])
@pytest.mark.parametrize("kind", damaged_logs())
def test_all_that_can_be_read_is_printed_and_the_damage_named(
    kind: str, kernels: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_dump, "SMALL_LOG", -1 if kernels else 1 << 30)
    path = written(tmp_path, damaged_logs()[kind])
    outcome = epochlog("dump", "--records", "--json", path)
    assert outcome.status == 1
    found = lines(outcome)
    values = [line["value"] for line in found if line["kind"] == "record"]
    assert values[:2] == ["a", "b"]
    assert kind == "torn" or values[-1] == "after"
    assert ("good" in values) == (kind == "record")
    damage = [line for line in found if line["kind"] == "damage"]
    invalid = [line for line in found if line["kind"] == "batch" and not line["is_valid"]]
    assert (len(damage), len(invalid)) == ((0, 1) if kind == "checksum" else (1, 0))
    if damage:
        assert damage[0]["position"] == len(simple_batch(0, [b"a", b"b"]))
        assert str(path) in damage[0]["message"]


DAMAGED_IN_DUMP = {
    "batch_length_overrun",
    "garbage_tail",
    "record_bitflip",
    "truncated_tail",
    "epoch_checkpoint_unparsable",
    "hw_checkpoint_unparsable",
    "producer_snapshot_bad_crc",
    "symlink_escape",
}
"""What can be seen in a file by itself; the rest is for `verify`, which compares files."""


@pytest.mark.parametrize("kind", damage_kinds())
def test_damaged_replicas_are_dumped_to_their_end(kind: str, tmp_path: Path) -> None:
    expected = damaged(kind, tmp_path)
    root = tmp_path / expected["replica"]
    outcome = epochlog("dump", "--json", root)
    found = lines(outcome)
    wrong = [line["file"] for line in found if line["kind"] == "damage" or line.get("is_valid") is False]
    assert (outcome.status, bool(wrong)) == ((1, True) if kind in DAMAGED_IN_DUMP else (0, False))
    if wrong:
        assert {Path(file).name for file in wrong} == {expected["file"]}
    logs = {str(path) for path in root.rglob("*.log") if not path.is_symlink() and path.stat().st_size}
    assert logs <= {line["file"] for line in found}


def test_a_zero_tail_of_a_log_is_named_and_no_damage(tmp_path: Path) -> None:
    data = simple_batch()
    outcome = epochlog("dump", written(tmp_path, data + bytes(200_000)))
    assert outcome.status == 0
    assert outcome.out.splitlines()[1:] == [f"zero_tail: position: {len(data)} size: 200000"]


def test_text_says_what_is_wrong_and_where_reading_goes_on(tmp_path: Path) -> None:
    sound = simple_batch()
    path = written(tmp_path, sound + b"\x07" * 100 + simple_batch(1))
    outcome = epochlog("dump", path)
    assert outcome.status == 1
    damage = outcome.out.splitlines()[1]
    assert damage.startswith(f"damage: {path}: ")
    assert f"position {len(sound)}" in damage
    assert damage.endswith(f"the next batch begins at position {len(sound) + 100}")


@pytest.mark.parametrize(("suffix", "size"), [("index", 8), ("timeindex", 12), ("txnindex", 34)])
def test_odd_bytes_after_the_entries_of_an_index_are_damage(suffix: str, size: int, tmp_path: Path) -> None:
    entry = bytes(2) + bytes(range(1, size - 1))
    outcome = epochlog("dump", "--json", written(tmp_path, entry + b"odd", f"00000000000000000000.{suffix}"))
    assert outcome.status == 1
    kinds = [(line["kind"], line.get("position")) for line in lines(outcome)][-1:]
    assert kinds == [("damage", size)]


def test_several_damaged_files_are_all_dumped(tmp_path: Path) -> None:
    torn, bad = written(tmp_path, simple_batch()[:-1]), written(tmp_path, b"x y z", "leader-epoch-checkpoint")
    outcome = epochlog("dump", "--json", torn, bad, CODECS)
    assert outcome.status == 1
    assert [(line["file"], line.get("line")) for line in lines(outcome)[:2]] == [(str(torn), None), (str(bad), 1)]
    assert len(lines(outcome)) == 2 + len(dump_json(CODECS))


def test_the_tail_of_a_log_that_grows_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = simple_batch() + simple_batch(1)
    path = written(tmp_path, data[:-5])
    batches = LogFile.batches

    def while_growing(log_file: LogFile, position: int = 0) -> Any:
        with open(path, "ab") as file:
            file.write(data[path.stat().st_size :])
        return batches(log_file, position)

    monkeypatch.setattr(LogFile, "batches", while_growing)
    outcome = epochlog("dump", path)
    assert outcome.status == 0
    assert len(outcome.out.splitlines()) == 2


def test_the_tail_of_a_log_is_given_time_to_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = simple_batch() + simple_batch(1)
    path = written(tmp_path, data[:-5])
    monkeypatch.setattr(tail_rereader, "time", SimpleNamespace(sleep=lambda _pause: path.write_bytes(data)))
    outcome = epochlog("dump", path)
    assert outcome.status == 0
    assert len(outcome.out.splitlines()) == 2


# What cannot be dumped ----------------------------------------------------------------------------------------------


def test_files_that_are_not_kafkas_are_one_line_and_status_2(tmp_path: Path) -> None:
    path = written(tmp_path, b"hello", "notes.txt")
    outcome = epochlog("dump", path)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == (
        f"epochlog: {path}: not a file that Kafka writes in its log directories; "
        "name a file such as 00000000000000000000.log, or a directory\n"
    )


def test_in_a_directory_such_files_are_named(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    (directory / "lost+found").mkdir(parents=True)
    (directory / "nested-0").mkdir()
    written(directory, simple_batch())
    written(directory, b"hello", "notes.txt")
    written(directory, b"0", "leader-epoch-checkpoint.tmp")
    os.mkfifo(directory / "00000000000000000000.index")
    outcome = epochlog("dump", "--json", directory)
    assert outcome.status == 0
    assert [(Path(line["file"]).name, line["kind"]) for line in lines(outcome)] == [
        ("00000000000000000000.index", "unknown_file"),
        ("00000000000000000000.log", "batch"),
        ("leader-epoch-checkpoint.tmp", "temporary_file"),
        ("notes.txt", "unknown_file"),
        ("lost+found", "unknown_directory"),
        ("nested-0", "unknown_directory"),
    ]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "00000000000000000000.log")
    assert epochlog("dump", tmp_path / "00000000000000000000.log").status == 2


def test_what_can_be_dumped_is_dumped_before_status_2(tmp_path: Path) -> None:
    outcome = epochlog("dump", tmp_path / "nowhere", CODECS)
    assert outcome.status == 2
    assert len(outcome.out.splitlines()) > 30
    assert outcome.err.count("\n") == 1


def test_a_file_in_a_directory_that_cannot_be_read_is_one_line_and_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    path = written(directory, simple_batch())
    written(directory, b"0\n1\n0 0\n", "leader-epoch-checkpoint")

    def refuse(_path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(LogFile, "open", refuse)
    outcome = epochlog("dump", "--json", directory)
    assert outcome.status == 2
    assert outcome.err == f"epochlog: {path}: Permission denied; {ACCESS_ADVICE}\n"
    assert [line["kind"] for line in lines(outcome)] == ["error", "leader_epoch"]


def test_links_are_followed_only_within_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "orders-0").mkdir(parents=True)
    outside = written(tmp_path, simple_batch(values=[b"secret"]))
    inside = written(root, b"0\n1\n3 9\n", "leader-epoch-checkpoint")
    (root / "orders-0/leader-epoch-checkpoint").symlink_to(inside)
    (root / "orders-0/00000000000000000000.log").symlink_to(outside)
    outcome = epochlog("dump", root, "--records")
    assert outcome.status == 1
    assert "epoch: 3 start_offset: 9" in outcome.out
    assert "a symbolic link that leaves the root: it was not followed" in outcome.out
    assert "secret" not in outcome.out


def test_copies_may_be_called_anything(tmp_path: Path) -> None:
    data = simple_batch()
    for name in (
        "copy.log",
        "00000000000000000000.log.deleted",
        "00000000000000000000.log.swap",
        "bootstrap.checkpoint",
    ):
        outcome = epochlog("dump", written(tmp_path, data, name))
        assert (outcome.status, outcome.out.count("base_offset: 0 ")) == (0, 1)


def test_a_reader_that_goes_away_ends_the_dump(tmp_path: Path) -> None:
    path = written(tmp_path, log(3000))
    script = f"import sys; from replication.cli.main import main; main(['dump', {str(path)!r}])"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() != 0


# Hostile bytes ------------------------------------------------------------------------------------------------------

NAMES = (
    "00000000000000000000.log",
    "00000000000000000005-0000000001.checkpoint",
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000000.txnindex",
    "00000000000000000007.snapshot",
    "leader-epoch-checkpoint",
    "partition.metadata",
    "quorum-state",
    "meta.properties",
    ".kafka_cleanshutdown",
    "recovery-point-offset-checkpoint",
)


@settings(max_examples=40)
@example(
    data=batch(records=[record(offset_delta=1, timestamp_delta=1)], base_offset=2**63 - 1, base_timestamp=2**63 - 1),
    offsets=":",
)
@example(data=batch(records=[record(), record(offset_delta=1)], base_sequence=2**31 - 1), offsets=":")
@example(data=b"".join(map(simple_batch, (1, 9, 2, 3))), offsets="1:4")
@example(data=batch(records=[record(headers=[(b"\xff", None)])]), offsets=":")
@given(data=damaged_bytes(LOGS) | st.binary(max_size=200), offsets=st.sampled_from([":", "3:", ":2", "1:4"]))
def test_any_bytes_are_dumped_the_same_with_and_without_kernels(
    data: bytes, offsets: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.mktemp("log"), data)
    for form in ((), ("--json",)):
        outcomes = []
        for small in (1 << 30, -1):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(log_dump, "SMALL_LOG", small)
                outcomes.append(epochlog("dump", "--records", "--offsets", offsets, *form, path))
        assert outcomes[0] == outcomes[1]
        assert outcomes[0].status in {0, 1}
    assert all(line["file"] == str(path) for line in lines(outcomes[0]))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(data=st.binary(max_size=200) | st.text(max_size=60).map(str.encode))
def test_any_bytes_in_any_file_are_no_crash(name: str, data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = written(tmp_path_factory.mktemp("any"), data, name)
    outcome = epochlog("dump", "--records", "--json", path)
    assert outcome.status in {0, 1}
    assert outcome.err == ""
    assert all(line["file"] == str(path) for line in lines(outcome))


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("junk", [b"", b"\7"], ids=["zeros", "junk before a hole"])
def test_a_terabyte_that_was_never_written_is_passed_over(tmp_path: Path, junk: bytes, *, records: bool) -> None:
    end = simple_batch(7)
    path = written(tmp_path, simple_batch(0) + junk)
    with path.open("r+b") as file:
        file.truncate(1 << 40)
        file.seek(0, os.SEEK_END)
        file.write(end)
        file.truncate((1 << 41) + len(end))
    outcome = epochlog("dump", "--json", *["--records"][: int(records)], path)
    told = [each for each in lines(outcome) if each["kind"] != "record"]
    assert [each["kind"] for each in told] == ["batch", "damage", "batch", "zero_tail"]
    assert told[1]["position"] == len(simple_batch(0))
    assert told[2]["position"] == 1 << 40
    assert told[3]["size"] == 1 << 40
