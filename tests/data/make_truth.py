"""Say what is in each file of replicas, from what Kafka's own DumpLogSegments prints and Kafka's text files say.

python -m tests.data.make_truth VERSION LABEL...

writes truth/LABEL.truth.json for labels of replicas.py. Needs Java and Maven.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.data.replicas import HERE, replicas
from tests.oracle.log_dump import DumpedFile, Printed, dump_files
from tests.oracle.release import KafkaRelease, release_of

Truth = dict[str, Any]
CHECKPOINTS: Final = {
    "hw": "replication-offset-checkpoint",
    "recovery_point": "recovery-point-offset-checkpoint",
    "log_start": "log-start-offset-checkpoint",
    "cleaner": "cleaner-offset-checkpoint",
}
INDEXES: Final = {
    "index": (8, ("offset", "position"), "position"),
    "timeindex": (12, ("timestamp", "offset"), "timestamp"),
}
"""Bytes of a slot, what is in it, and the field that is 0 in none but a slot that was never written."""


def truth_of(release: KafkaRelease, label: str) -> Truth:
    """What is in all replicas of a label."""
    logs = sorted(replicas(label).glob("broker-*/*/*.log"))
    # Of an empty log's preallocated index the tool prints nothing but an exception.
    indexes = [log.with_suffix(f".{kind}") for log in logs if log.stat().st_size for kind in INDEXES]
    dumped = dump_files(release, [*logs, *(index for index in indexes if index.exists() and index.stat().st_size)])
    brokers = {root.name: of_broker(root, dumped) for root in sorted(replicas(label).glob("broker-*"))}
    generator = f"DumpLogSegments {release.version} --deep-iteration"
    return {"snapshot": label, "generator": generator, "brokers": brokers}


def of_broker(root: Path, dumped: dict[Path, DumpedFile]) -> Truth:
    """What one broker's log directory says."""
    checkpoints = {kind: offsets_in(root / name) for kind, name in CHECKPOINTS.items()}
    lines = (root / "meta.properties").read_text().splitlines()
    return {
        "clean_shutdown": (root / ".kafka_cleanshutdown").exists(),
        "meta": dict(line.split("=") for line in lines if not line.startswith("#")),
        "checkpoint_files": {kind: len(offsets) for kind, offsets in checkpoints.items()},
        "partitions": {
            directory.name: of_partition(directory, dumped)
            | {f"{kind}_checkpoint": offsets.get(directory.name) for kind, offsets in checkpoints.items()}
            for directory in sorted(path for path in root.iterdir() if path.is_dir())
        },
    }


def of_partition(directory: Path, dumped: dict[Path, DumpedFile]) -> Truth:
    """What one replica of a partition holds."""
    logs = sorted(directory.glob("*.log"))
    batches = [batch for log in logs for batch in dumped[log].batches]
    metadata = dict(line.split(": ") for line in (directory / "partition.metadata").read_text().splitlines())
    return {
        "segments": [of_segment(log, dumped) for log in logs],
        "batches": len(batches),
        "records": sum(int(batch["count"]) for batch in batches),
        "first_offset": int(batches[0]["baseOffset"]) if batches else None,
        "last_offset": int(batches[-1]["lastOffset"]) if batches else None,
        "leader_epoch_checkpoint": epochs_in(directory / "leader-epoch-checkpoint"),
        "epochs_from_batches": list(epochs_of(batches)),
        "codecs": sorted({batch["compresscodec"] for batch in batches}),
        "transactional_batches": sum(batch["isTransactional"] == "true" for batch in batches),
        "control_batches": sum(batch["isControl"] == "true" for batch in batches),
        "topic_id": metadata["topic_id"],
    }


def of_segment(log: Path, dumped: dict[Path, DumpedFile]) -> Truth:
    """What one segment's log and its indexes hold."""
    batches, records = dumped[log].batches, dumped[log].records
    valid = sum(int(batch["size"]) for batch in batches)
    assert all(batch["isvalid"] == "true" for batch in batches), log
    return {
        "base": int(log.stem),
        "valid_bytes": valid,
        "batches": len(batches),
        "records": len(records),
        "first_offset": int(records[0]["offset"]) if records else None,
        "last_offset": int(batches[-1]["lastOffset"]) if batches else None,
        "max_timestamp": max((int(batch["CreateTime"]) for batch in batches), default=-1),
        "sha256_valid": hashlib.sha256(log.read_bytes()[:valid]).hexdigest(),
        **{kind: of_index(log.with_suffix(f".{kind}"), dumped) for kind in INDEXES},
    }


def of_index(file: Path, dumped: dict[Path, DumpedFile]) -> Truth | None:
    """Count the slots of an index; entries are those that the tool prints, up to the zeros."""
    if not file.exists():
        return None
    slot, names, written = INDEXES[file.suffix[1:]]
    printed = dumped.get(file, DumpedFile()).entries
    entries = [[int(entry[name]) for name in names] for entry in printed if entry[written] != "0"]
    size = file.stat().st_size
    return {
        "size": size,
        "slots": size // slot,
        "entries": len(entries),
        "zero_tail_slots": size // slot - len(entries),
        "odd_bytes": size % slot,
        "first": entries[0] if entries else None,
        "last": entries[-1] if entries else None,
    }


def epochs_of(batches: list[Printed]) -> Iterator[list[int]]:
    """Each leader epoch with the first offset that a batch of it has."""
    latest = None
    for batch in batches:
        if batch["partitionLeaderEpoch"] != latest:
            latest = batch["partitionLeaderEpoch"]
            yield [int(latest), int(batch["baseOffset"])]


def epochs_in(file: Path) -> list[list[int]] | None:
    """Read a leader-epoch-checkpoint; None where there is none."""
    if not file.exists():
        return None
    return [list(map(int, line.split())) for line in file.read_text().splitlines()[2:]]


def offsets_in(file: Path) -> dict[str, int]:
    """Read an offset checkpoint by the names of partition directories; one that is missing or empty has none."""
    lines = file.read_text().splitlines()[2:] if file.exists() else []
    return {f"{topic}-{partition}": int(offset) for topic, partition, offset in map(str.split, lines)}


def main(release: KafkaRelease, labels: list[str]) -> None:
    """Write a file for each label."""
    for label in labels:
        written = json.dumps(truth_of(release, label), separators=(",", ":"))
        (HERE / f"truth/{label}.truth.json").write_text(written + "\n")


if __name__ == "__main__":
    main(release_of(sys.argv[1]), sys.argv[2:])
