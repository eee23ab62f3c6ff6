"""`epochlog dump`: everything that is in every kind of file."""

import json
import re
import struct
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from logstore.batch.batch_attributes import DELETE_HORIZON_BIT as DELETE_HORIZON
from replication.cli.dumping import log_dump, record_runs
from replication.cli.dumping.offset_range import OffsetRange
from tests.data.replicas import LABELS, replicas, truth
from tests.logstore.batches import CONTROL, TRANSACTIONAL, batch, record, simple_batch
from tests.logstore.golden import LEGACY
from tests.oracle.kafka import classpath
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.cli.dumps import CODECS, TRANSACTIONS, content, dump_json, lines, written

# What real clusters left --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", LABELS)
def test_a_dump_of_a_replica_agrees_with_kafka(label: str) -> None:
    for broker, root_truth in truth(label)["brokers"].items():
        root = replicas(label) / broker
        outcome = epochlog("dump", "--json", root)
        assert outcome.status == 0
        entries: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in lines(outcome):
            entries[line["file"]].append(line)
        for name, said in root_truth["partitions"].items():
            check_partition(root / name, said, entries)


def check_partition(directory: Path, said: dict[str, Any], entries: dict[str, list[dict[str, Any]]]) -> None:
    epochs = entries[str(directory / "leader-epoch-checkpoint")]
    assert [[entry["epoch"], entry["start_offset"]] for entry in epochs] == said["leader_epoch_checkpoint"]
    assert [entry["topic_id"] for entry in entries[str(directory / "partition.metadata")]] == [said["topic_id"]]
    batches = []
    for segment in said["segments"]:
        found = entries[str(directory / f"{segment['base']:020d}.log")]
        batches += found
        check_segment(segment, found)
        check_index(
            segment["index"], entries[str(directory / f"{segment['base']:020d}.index")], "last_offset", "position"
        )
        check_index(
            segment["timeindex"], entries[str(directory / f"{segment['base']:020d}.timeindex")], "timestamp", "offset"
        )
    assert sorted({entry["codec"] for entry in batches}) == said["codecs"]
    assert sum(entry["is_transactional"] for entry in batches) == said["transactional_batches"]
    assert sum(entry["is_control"] for entry in batches) == said["control_batches"]


def check_segment(said: dict[str, Any], batches: list[dict[str, Any]]) -> None:
    assert len(batches) == said["batches"]
    assert sum(entry["record_count"] for entry in batches) == said["records"]
    assert sum(entry["size"] for entry in batches) == said["valid_bytes"]
    assert max((entry["max_timestamp"] for entry in batches), default=-1) == said["max_timestamp"]
    if batches:
        assert (batches[0]["base_offset"], batches[-1]["last_offset"]) == (said["first_offset"], said["last_offset"])
    assert all(entry["is_valid"] for entry in batches)


def check_index(said: dict[str, Any] | None, found: list[dict[str, Any]], first: str, second: str) -> None:
    if said is None:
        assert found == []
        return
    entries = [[entry[first], entry[second]] for entry in found if entry["kind"] != "zero_tail"]
    assert len(entries) == said["entries"]
    if entries:
        assert (entries[0], entries[-1]) == (said["first"], said["last"])
    tail = [entry["size"] for entry in found if entry["kind"] == "zero_tail"]
    assert sum(tail) == said["zero_tail_slots"] * said["size"] // max(said["slots"], 1)


@pytest.mark.parametrize("label", LABELS)
def test_the_files_of_a_root_are_dumped_too(label: str) -> None:
    root, said = replicas(label) / "broker-1", truth(label)["brokers"]["broker-1"]
    kinds = Counter((Path(line["file"]).name, line["kind"]) for line in dump_json(root))
    assert kinds["replication-offset-checkpoint", "offset_checkpoint_entry"] == said["checkpoint_files"]["hw"]
    assert (
        kinds["recovery-point-offset-checkpoint", "offset_checkpoint_entry"]
        == said["checkpoint_files"]["recovery_point"]
    )
    assert kinds[".kafka_cleanshutdown", "clean_shutdown"] == int(said["clean_shutdown"])
    [meta] = dump_json(root / "meta.properties")
    assert meta["cluster_id"] == said["meta"]["cluster.id"]
    assert meta["directory_id"] == said["meta"]["directory.id"]


@pytest.mark.parametrize("path", sorted(LEGACY.glob("*.log")), ids=lambda path: path.stem)
def test_records_of_every_magic_and_codec_are_those_that_kafka_wrote(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    found = dump_json("--records", path)
    batches = [line for line in found if line["kind"] == "batch"]
    assert [
        (each["position"], each["size"], each["magic"], each["codec"], each["timestamp_type"]) for each in batches
    ] == [(each["position"], each["size"], each["magic"], each["codec"], each["timestamp_type"]) for each in expected]
    assert [(each["base_offset"], each["last_offset"], each["crc"], each["is_valid"]) for each in batches] == [
        (each["base_offset"], each["last_offset"], each["checksum"], each["valid"]) for each in expected
    ]
    records = [
        [each["offset"], each["timestamp"], content(each, "key"), content(each, "value")]
        for each in found
        if each["kind"] == "record"
    ]
    assert records == [
        [offset, timestamp, *(None if each is None else bytes.fromhex(each) for each in (key, value))]
        for batch_ in expected
        for offset, timestamp, key, value, *_ in batch_["records"]
    ]


@pytest.mark.parametrize("path", [CODECS, TRANSACTIONS], ids=["codecs", "transactions"])
def test_records_are_those_that_kafka_prints(path: Path, release: KafkaRelease) -> None:
    java = ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath(release)]
    tool = ["org.apache.kafka.tools.DumpLogSegments", "--print-data-log", "--files", path]
    printed = subprocess.run([*java, *tool], capture_output=True, text=True, check=True).stdout
    expected = [kafka_record(line) for line in printed.splitlines() if line.startswith("|")]
    found = [our_record(line) for line in dump_json("--records", path) if line["kind"].endswith("record")]
    assert len(found) > 1000
    assert found == expected


def kafka_record(line: str) -> dict[str, Any]:
    fields = dict(re.findall(r"(\w+): (\[.*?\]|\S+)", line.partition(" key: ")[0].partition(" payload: ")[0]))
    made = {"offset": int(fields["offset"]), "timestamp": int(fields["CreateTime"])}
    if "endTxnMarker" in fields:
        return {**made, "control": (fields["endTxnMarker"].lower(), int(fields["coordinatorEpoch"]))}
    sizes = int(fields["keySize"]), int(fields["valueSize"])
    key = re.search(r" key: (.*?)(?: payload: |$)", line)
    value = re.search(r" payload: (.*)$", line)
    return {
        **made,
        "sizes": sizes,
        "sequence": int(fields["sequence"]),
        "headers": fields["headerKeys"],
        "key": key[1] if key else None,
        "value": value[1] if value else None,
    }


def our_record(line: dict[str, Any]) -> dict[str, Any]:
    made = {"offset": line["offset"], "timestamp": line["timestamp"]}
    if line["kind"] == "control_record":
        return {**made, "control": (line["control_type"], line["coordinator_epoch"])}
    key, value = content(line, "key"), content(line, "value")
    return {
        **made,
        "sizes": tuple(-1 if each is None else len(each) for each in (key, value)),
        "sequence": line["sequence"],
        "headers": f"[{','.join(each['key'] for each in line['headers'])}]",
        "key": None if key is None else key.decode(errors="replace"),
        "value": None if value is None else value.decode(errors="replace"),
    }


# Lines of text ------------------------------------------------------------------------------------------------------


def test_text_names_each_field_of_a_batch_and_its_records(tmp_path: Path) -> None:
    data = batch(
        base_offset=100,
        leader_epoch=3,
        records=[
            record(key=b"k", value=b"two\nlines", headers=[(b"trace", b"abc"), (b"empty", None)]),
            record(offset_delta=1, timestamp_delta=5, value=None),
        ],
        max_timestamp=1_005,
        producer_id=7,
        producer_epoch=1,
        base_sequence=41,
        attributes=TRANSACTIONAL,
    )
    crc = int.from_bytes(data[17:21], "big")
    outcome = epochlog("dump", written(tmp_path, data), "--records")
    assert outcome.status == 0
    assert outcome.out.splitlines() == [
        (
            "base_offset: 100 last_offset: 101 record_count: 2 base_sequence: 41 last_sequence: 42 producer_id: 7 "
            "producer_epoch: 1 partition_leader_epoch: 3 is_transactional: true is_control: false "
            "delete_horizon_ms: null position: 0 timestamp_type: CreateTime base_timestamp: 1000 max_timestamp: 1005 "
            f"size: {len(data)} magic: 2 codec: none crc: {crc} is_valid: true"
        ),
        (
            "| offset: 100 timestamp: 1000 sequence: 41 key_size: 1 value_size: 9 headers: [trace: abc, empty: null] "
            r"key: k value: two\x0alines"
        ),
        "| offset: 101 timestamp: 1005 sequence: 42 key_size: -1 value_size: -1 headers: [] key: null value: null",
    ]


def test_a_batch_that_compaction_will_drop_says_when(tmp_path: Path) -> None:
    data = batch(records=[record(value=None)], base_timestamp=777, attributes=DELETE_HORIZON)
    [line] = dump_json(written(tmp_path, data))
    assert (line["delete_horizon_ms"], line["timestamp_type"]) == (777, "CreateTime")
    [line] = dump_json(written(tmp_path, simple_batch()))
    assert line["delete_horizon_ms"] is None


def test_text_and_json_show_the_same_batches() -> None:
    text = epochlog("dump", CODECS).out.splitlines()
    for line, document in zip(text, dump_json(CODECS), strict=True):
        shown = dict(re.findall(r"(\w+): (\S+)", line))
        assert shown == {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in document.items()
            if name not in {"schema_version", "file", "kind"}
        }


def test_control_records_are_explained() -> None:
    found = re.findall(r"^\| .*control_type.*$", epochlog("dump", TRANSACTIONS, "--records").out, re.MULTILINE)
    assert {re.sub(r"(offset|timestamp|coordinator_epoch): \d+", r"\1: N", line) for line in found} == {
        "| offset: N timestamp: N control_type: commit version: 0 coordinator_epoch: N",
        "| offset: N timestamp: N control_type: abort version: 0 coordinator_epoch: N",
    }


def test_control_records_of_other_kinds_keep_their_value(tmp_path: Path) -> None:
    records = [
        record(key=struct.pack(">hh", 0, 3), value=b"\x00\xff"),
        record(offset_delta=1, key=struct.pack(">hh", 0, 99)),
    ]
    path = written(tmp_path, batch(records=records, attributes=CONTROL), "00000000000000000002-0000000001.checkpoint")
    assert epochlog("dump", path, "--records").out.splitlines()[1:] == [
        r"| offset: 0 timestamp: 1000 control_type: snapshot_header version: 0 value: \x00\xff",
        "| offset: 1 timestamp: 1000 control_type: 99 version: 0 value: ",
    ]
    header, unknown = [line for line in dump_json(path, "--records") if line["kind"] == "control_record"]
    assert (header["control_type"], header["value_base64"]) == ("snapshot_header", "AP8=")
    assert (unknown["control_type"], unknown["value"]) == (99, "")


def test_each_file_of_a_directory_has_a_heading_and_a_single_file_has_none() -> None:
    directory = CODECS.parent
    headings = re.findall(r"^file: (.*)$", epochlog("dump", directory).out, re.MULTILINE)
    assert headings == [str(path) for path in sorted(directory.iterdir())]
    assert "file:" not in epochlog("dump", CODECS).out
    assert epochlog("dump", CODECS, CODECS).out.count("file: ") == 2


def test_files_beside_the_log_are_lines_of_fields() -> None:
    directory = replicas("diverged") / "broker-1/codecs-0"
    assert epochlog("dump", directory / "leader-epoch-checkpoint").out.splitlines()[:2] == [
        "epoch: 0 start_offset: 400",
        "epoch: 1 start_offset: 2250",
    ]
    assert epochlog("dump", directory / "partition.metadata").out == "topic_id: 9NkaLZnTSm-KgVyDU8wUBg\n"
    index = epochlog("dump", directory / "00000000000000000400.index").out.splitlines()
    assert index[0] == "last_offset: 588 position: 11757"
    assert index[25:] == ["zero_tail: position: 200 size: 65336"]


def test_producers_and_aborted_transactions_are_listed() -> None:
    directory = replicas("reconciled") / "broker-3/txns-0"
    [snapshot] = sorted(directory.glob("*.snapshot"))[-1:]
    [index] = directory.glob("*.txnindex")
    producers, aborted = dump_json(snapshot), dump_json(index)
    assert {line["kind"] for line in producers} == {"producer_state"}
    assert {"producer_id", "last_sequence", "last_offset", "coordinator_epoch"} <= set(producers[0])
    assert {line["kind"] for line in aborted} == {"aborted_transaction"}
    markers = [line for line in dump_json("--records", *directory.glob("*.log")) if line["kind"] == "control_record"]
    assert [line["last_offset"] for line in aborted] == [
        line["offset"] for line in markers if line["control_type"] == "abort"
    ]


def test_what_a_controller_remembers_of_elections_is_shown(tmp_path: Path) -> None:
    state = {"leaderId": 3000, "leaderEpoch": 7, "votedId": -1, "currentVoters": [{"voterId": 3000}], "data_version": 0}
    path = written(tmp_path, json.dumps(state).encode(), "quorum-state")
    assert epochlog("dump", path).out == (
        "version: 0 leader_id: 3000 leader_epoch: 7 voted_id: -1 voted_directory_id: null current_voters: [3000]\n"
    )


def test_a_name_cannot_put_lines_or_escapes_into_the_text(tmp_path: Path) -> None:
    directory = tmp_path / "a\n\x1b[31m"
    directory.mkdir()
    written(directory, b"", "leader-epoch-checkpoint")
    path = written(directory, b"torn")
    shown = epochlog("dump", path, path).out
    assert "\x1b" not in shown
    assert r"a\x0a\x1b[31m" in shown
    assert {line["file"] for line in dump_json(path)} == {str(path)}


# Limits -------------------------------------------------------------------------------------------------------------


def test_offsets_are_half_open() -> None:
    records = [
        line["offset"] for line in dump_json(CODECS, "--records", "--offsets", "445:525") if line["kind"] == "record"
    ]
    assert records == list(range(445, 525))
    batches = [(line["base_offset"], line["last_offset"]) for line in dump_json(CODECS, "--offsets", "450:520")]
    assert batches == [(450, 519)]
    batches = [(line["base_offset"], line["last_offset"]) for line in dump_json(CODECS, "--offsets", "519:521")]
    assert batches == [(450, 519), (520, 588)]


@pytest.mark.parametrize("path", [CODECS, CODECS.with_suffix(".index"), CODECS.with_suffix(".timeindex")])
def test_of_no_offsets_nothing_is_printed(path: Path) -> None:
    assert [line for line in dump_json(path, "--records", "--offsets", "455:455") if line["kind"] != "zero_tail"] == []


@pytest.mark.parametrize("offsets", ["2300:", ":420", "1000:1001", "5000:"])
def test_index_entries_are_limited_too(offsets: str) -> None:
    wanted = OffsetRange.parse(offsets)
    for suffix, name in ((".index", "last_offset"), (".timeindex", "offset")):
        path = CODECS.with_suffix(suffix)
        everything = [line for line in dump_json(path) if name in line]
        limited = [line for line in dump_json(path, "--offsets", offsets) if name in line]
        assert limited == [line for line in everything if wanted.holds(line[name])]


@pytest.mark.parametrize("offsets", ["7", "a:b", "-1:5", "1:2:3", "\u0661:", "520:519"])
def test_offsets_that_are_no_range_are_refused(offsets: str) -> None:
    outcome = epochlog("dump", CODECS, f"--offsets={offsets}")
    assert (outcome.status, outcome.out) == (2, "")
    assert "--offsets" in outcome.err


# Fast and plain ways ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [(), ("--offsets", "430:2000"), ("--json",)], ids=str)
@pytest.mark.parametrize("path", [CODECS, TRANSACTIONS, *sorted(LEGACY.glob("*.log"))], ids=lambda path: path.stem)
def test_kernels_print_what_plain_python_prints(
    path: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = epochlog("dump", "--records", *arguments, path)
    monkeypatch.setattr(log_dump, "SMALL_LOG", -1)
    monkeypatch.setattr(record_runs, "RUN_BYTES", 20_000)  # some batches together, some alone, some too large
    assert epochlog("dump", "--records", *arguments, path) == plain
