"""Our log and Kafka's, given the same commands: every answer must be the same, and so must the files."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import crc32c

from epoch.entry import EpochEntry
from epoch.errors import InvalidEpochEntryError
from epoch.history import EpochHistory
from logstore.append.append_info import NOTHING_APPENDED, AppendInfo
from logstore.batch.append_origin import AppendOrigin
from logstore.errors import LogStoreError, OffsetOutOfRangeError
from logstore.file_name import FileKind, file_name, parse_file_name
from logstore.files.producer_snapshot import ProducerSnapshot
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.log_config import LogConfig
from tests.oracle.kafka import JavaProgram

COMPARED = {
    FileKind.LOG,
    FileKind.OFFSET_INDEX,
    FileKind.TIME_INDEX,
    FileKind.TRANSACTION_INDEX,
    FileKind.PRODUCER_SNAPSHOT,
    FileKind.LEADER_EPOCH_CHECKPOINT,
}
NO_EPOCHS = b"0\n0\n"

KAFKAS_NAMES = {
    "CorruptBatchError": "CorruptRecordException",
    "InvalidBatchHeaderError": "CorruptRecordException",
    "InvalidEpochEntryError": "IllegalArgumentException",
    "InvalidTransactionStateError": "InvalidTxnStateException",
}


def kafkas_name(error: Exception) -> str:
    """The exception that Kafka raises where we raise `error`."""
    name = type(error).__name__
    return KAFKAS_NAMES.get(name, name.removesuffix("Error") + "Exception")


_KAFKAS_NAMES = {Isolation.READ_COMMITTED: "TXN_COMMITTED"}
"""What Kafka calls it, where it has another name for it than its clients."""


class KafkaCannotOpenError(Exception):
    """Recovery finds more index entries than the index takes, since each start has skipped one; Kafka gives up."""


@dataclass
class LogPair:
    """One partition, twice."""

    kafka: JavaProgram
    root: Path
    options: dict[str, int | str]
    script: list[str] = field(default_factory=list)
    """Everything that Kafka was asked: it repeats a failure."""

    def __post_init__(self) -> None:
        self.ours_dir, self.kafkas_dir = self.root / "ours/t-0", self.root / "kafka/t-0"
        self.ours_dir.parent.mkdir(parents=True)
        self.left = PartitionCheckpoints(recovery_point=0, log_start_offset=0, clean_shutdown=True)
        self.open()

    @property
    def config(self) -> LogConfig:
        """The options, in our words."""
        return LogConfig(
            segment_bytes=int(self.options["segmentBytes"]),
            index_interval_bytes=int(self.options["indexInterval"]),
            segment_index_bytes=int(self.options["indexBytes"]),
            segment_ms=int(self.options["segmentMs"]),
            retention_bytes=int(self.options["retentionBytes"]),
            retention_ms=-1,
            file_delete_delay_ms=0,
            max_message_bytes=100 << 20,
            message_timestamp_after_max_ms=2**63 - 1,
            takes_lower_epochs=True,
            remote_storage_enable=False,
        )

    def ask(self, line: str) -> str:
        self.script.append(line)
        answer = self.kafka.ask(line)[0]
        assert "TASKERR" not in answer
        return answer

    def check(self, ours: object, line: str) -> None:
        """Compare our answer with Kafka's."""
        theirs = self.ask(line)
        assert str(ours) == theirs, f"{ours} is not Kafka's {theirs}{self.context()}"

    def context(self) -> str:
        return "\n".join(["", *(line if len(line) < 200 else line[:200] + "..." for line in self.script)])

    # --- opening and leaving

    def open_kafkas(self) -> str:
        """Open Kafka's only; return what it says."""
        options = " ".join(f"{name}={value}" for name, value in self.options.items())
        return self.ask(f"open {self.kafkas_dir} {options}")

    def open(self) -> None:
        theirs = self.open_kafkas()
        if "Attempt to append to a full" in theirs:
            raise KafkaCannotOpenError
        self.log = Log.open(self.ours_dir, self.config, checkpoints=self.left, replicated=True)
        assert theirs == f"ok clean={str(self.left.clean_shutdown).lower()} {self.state()}", self.context()
        self.follow_what_recovery_keeps()
        self.check_content()

    def close(self) -> None:
        differing = self.leave()
        assert not differing, f"{differing}{self.context()}"

    def leave(self) -> dict[str, tuple[object, object]]:
        """Close both; return the content of the files that differ, None where there is no such file."""
        self.log.close()
        self.left = PartitionCheckpoints(
            recovery_point=self.log.log_end_offset,
            log_start_offset=self.log.log_start_offset,
            clean_shutdown=True,
        )
        self.ask("close")
        start = self.log.log_start_offset
        ours, kafkas = contents(self.ours_dir, start), contents(self.kafkas_dir, start)
        return {
            name: (ours.get(name), kafkas.get(name)) for name in ours | kafkas if ours.get(name) != kafkas.get(name)
        }

    def crash(self) -> None:
        self.left = PartitionCheckpoints(
            recovery_point=self.log.recovery_point,
            log_start_offset=self.log.log_start_offset,
            clean_shutdown=False,
        )
        # Kafka's tasks have run after every command, and this is one of them.
        self.log.epochs.flush()
        self.log.abandon()
        self.ask("crash")

    def follow_what_recovery_keeps(self) -> None:
        """Kafka knows nobody who led from the log's start to the first record, where there is a gap and the start was
        truncated back; our recovery asks the batches below."""
        log, ours = self.log, self.log.epochs.entries
        theirs = [EpochEntry(*map(int, entry.split(":"))) for entry in self.ask("epochs").split()]
        batches = [batch for segment in log.segments for batch in segment.batches()]
        below = [batch for batch in batches if batch.last_offset < log.log_start_offset]
        if self.left.clean_shutdown or not below or ours == theirs:
            return
        first_record = batches[len(below)].base_offset if len(below) < len(batches) else log.log_end_offset
        of_records = EpochHistory(ours).truncate_from_start(first_record).truncate_to(log.log_end_offset)
        kept = EpochEntry(below[-1].leader_epoch, log.log_start_offset)
        if ours[:1] == [kept] and of_records.entries == theirs:
            for epoch, start_offset in ours:
                self.ask(f"assignEpoch {epoch} {start_offset}")

    # --- looking

    def state(self) -> str:
        log = self.log
        return (
            f"logStart={log.log_start_offset} leo={log.log_end_offset} hw={log.high_watermark} "
            f"recoveryPoint={log.recovery_point} segments={len(log.segments)}"
        )

    @property
    def has_small_indexes(self) -> bool:
        """Whether one append of several batches could overflow an index: Kafka fails in the middle of it then."""
        return self.config.segment_index_bytes < 4096

    def check_content(self) -> None:
        log = self.log
        self.check(self.state(), "state")
        self.check(" ".join(f"{each.base_offset}:{each.size}" for each in log.segments), "segments")
        self.check(" ".join(f"{epoch}:{start}" for epoch, start in log.epochs.entries), "epochs")

    def check_indexes(self) -> None:
        for segment in self.log.segments:
            entries = " ".join(f"{offset}:{position}" for offset, position in segment.offset_index.entries)
            self.check(entries or "empty", f"index {segment.base_offset}")
            times = " ".join(f"{timestamp}:{offset}" for timestamp, offset in segment.time_index.entries)
            self.check(times or "empty", f"timeindex {segment.base_offset}")

    def read(self, offset: int, max_bytes: int, isolation: Isolation, *, min_one_batch: bool) -> None:
        theirs = self.ask(
            f"read {offset} {max_bytes} {_KAFKAS_NAMES.get(isolation, isolation.name)} {str(min_one_batch).lower()}"
        )
        # Kafka's high watermark may have moved by the read: the one thing in which a log must not be like it.
        self.ask(f"hw {self.log.high_watermark}")
        try:
            view = self.log.read(offset, max_bytes, isolation=isolation, min_one_batch=min_one_batch)
        except OffsetOutOfRangeError:
            assert theirs.startswith("ERR OffsetOutOfRangeException"), self.context()
            return
        batches = list(view.batches())
        first, last = (batches[0].base_offset, batches[-1].last_offset) if batches else (-1, -1)
        ours = f"{first} {last} bytes={len(view.data)} crc={crc32c.crc32c(view.data):08x} batches={len(batches)}"
        assert theirs.startswith(ours + " "), f"{ours} is not Kafka's {theirs}{self.context()}"
        if isolation is Isolation.LOG_END:
            assert theirs.count("partialFirst=true") == view.first_batch_incomplete, self.context()
        if batches:
            assert f" segment={view.segment_base_offset} pos={view.position} " in theirs, self.context()
            # Both may name transactions beyond the last batch; how far depends on how an index is searched.
            known = [each.split(":") for each in theirs.partition(" aborted=")[2].split(",") if each]
            kafkas_aborted = {(int(producer), int(start)) for producer, start in known if int(start) <= last}
            aborted = {(each.producer_id, each.first_offset) for each in view.aborted_transactions}
            assert {each for each in aborted if each[1] <= last} == kafkas_aborted, self.context()

    def offset_for_timestamp(self, timestamp: int) -> None:
        found = self.log.offset_for_timestamp(timestamp)
        epoch = "none" if found is None or found.leader_epoch is None else found.leader_epoch
        theirs = self.ask(f"offsetForTimestamp {timestamp}")
        if theirs == "none" and found:
            # Kafka looks into no second segment where what it finds in one lies below the log's start.
            assert found[:2] == self.first_not_before(timestamp), self.context()
        else:
            assert theirs == (f"{found.timestamp} {found.offset} {epoch}" if found else "none"), self.context()

    def first_not_before(self, timestamp: int) -> tuple[int, int] | None:
        """Ask all records."""
        offset = self.log.log_start_offset
        while (view := self.log.read(offset, 1 << 20)).data:
            for record in (record for batch in view.batches() for record in batch.records()):
                if record.timestamp >= timestamp and record.offset >= self.log.log_start_offset:
                    return record.timestamp, record.offset
            offset = view.next_offset
        return None

    def end_offset_for_epoch(self, epoch: int) -> None:
        answer = self.log.end_offset_for_epoch(epoch)
        self.check(f"{answer.epoch} {answer.end_offset}" if answer else "none", f"endOffsetForEpoch {epoch}")

    def last_stable_offset(self) -> None:
        # After a truncation Kafka only looks for the first open transaction when the high watermark is told again.
        self.ask(f"hw {self.log.high_watermark}")
        ours, theirs = self.log.last_stable_offset, int(self.ask("lso"))
        if ours != theirs:
            # Where the log starts inside an open transaction, Kafka answers with the base offset of the batch there, or
            # where a truncation has left no batch, with the log's end.
            there = [batch.base_offset for batch in self.log.read(ours, 0).batches()] or [self.log.log_end_offset]
            assert min(there[0], self.log.high_watermark) == theirs, f"{ours} is not Kafka's {theirs}{self.context()}"

    # --- writing

    def append_as_leader(self, data: bytes, epoch: int, origin: AppendOrigin = AppendOrigin.CLIENT) -> None:
        version = 1 if origin is AppendOrigin.COORDINATOR else None
        line = "appendLeaderHex" if origin is AppendOrigin.CLIENT else "appendMarkerHex"
        self._append(
            lambda: self.log.append(data, leader_epoch=epoch, origin=origin, transaction_version=version),
            f"{line} {epoch} {data.hex()}",
        )

    def append_as_follower(self, data: bytes, epoch: int) -> None:
        append = lambda: self.log.append_batches(data, leader_epoch=epoch)  # noqa: E731  a name for a line
        self._append(append, f"appendFollowerHex {epoch} {data.hex()}")

    def _append(self, append: Callable[[], AppendInfo], line: str) -> None:
        theirs = self.ask(line)
        before = (self.state(), self.log.epochs.entries)
        try:
            info = append()
        except (LogStoreError, InvalidEpochEntryError) as error:
            refusal, info = f"ERR {kafkas_name(error)}", NOTHING_APPENDED
        else:
            refusal = ""
        if refusal or info.is_duplicate:
            ours = refusal or f"{info.first_offset} {info.last_offset} "
            assert theirs.startswith(ours), f"{ours} is not Kafka's {theirs}{self.context()}"
            assert (self.state(), self.log.epochs.entries) == before, "nothing may change"
            self.follow_what_kafka_did_before_refusing()
            return
        ours = f"{info.first_offset} {info.last_offset} maxTs={info.max_timestamp} bytes={info.size}"
        assert ours == theirs, f"{ours} is not Kafka's {theirs}{self.context()}"

    def follow_what_kafka_did_before_refusing(self) -> None:
        """Kafka assigns epochs and rolls before it looks at sequence numbers and sizes; we look first."""
        for entry in self.ask("epochs").split():
            epoch, start_offset = map(int, entry.split(":"))
            if EpochEntry(epoch, start_offset) not in self.log.epochs.entries:
                self.log.assign_epoch(epoch, start_offset)
        if len(self.ask("segments").split()) > len(self.log.segments):
            self.log.roll()

    def truncate_to(self, offset: int, *, reminded: bool = True) -> None:
        if reminded:
            # Kafka asks for it too late otherwise, and then makes time index entries that skip records.
            self.ask("largest")
        changed = str(self.log.truncate_to(offset)).lower()
        self.check(f"{changed} {self.state()}", f"truncateTo {offset}")
        # Kafka only looks for the first open transaction when the high watermark is told again.
        self.ask(f"hw {self.log.high_watermark}")

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None) -> None:
        self.log.truncate_fully_and_start_at(offset, log_start_offset)
        start = "" if log_start_offset is None else f" {log_start_offset}"
        self.check(f"ok {self.state()}", f"truncateFullyAndStartAt {offset}{start}")

    def roll(self) -> None:
        if self.log.segments[-1].size:
            self.log.roll()
            self.check(self.log.segments[-1].base_offset, "roll")

    def flush(self) -> None:
        self.log.flush()
        self.check(f"ok recoveryPoint={self.log.recovery_point}", "flush true")

    def high_watermark(self, offset: int) -> None:
        self.check(self.log.update_high_watermark(offset), f"hw {offset}")

    def delete_records(self, before: int) -> None:
        line = f"deleteRecords {before}"
        try:
            changed = str(self.log.delete_records(before)).lower()
        except OffsetOutOfRangeError:
            assert self.ask(line).startswith("ERR OffsetOutOfRangeException"), self.context()
        else:
            self.check(f"{changed} {self.state()}", line)

    def delete_old_segments(self) -> None:
        self.check(f"{self.log.delete_old_segments()} {self.state()}", "deleteOldSegments")


def contents(directory: Path, log_start_offset: int) -> dict[str, object]:
    """What must be the same: a file without entries counts as missing, a snapshot as the set of its entries.

    A snapshot without entries counts as missing only at the log's start: there a start makes it where there is none,
    and removes it where there is one. Where an index is missing, as Kafka first makes it when it is asked for, Kafka
    does one after the other in one start.
    """
    found: dict[str, object] = {}
    for path in directory.iterdir():
        kind = parse_file_name(path.name).kind
        data = path.read_bytes()
        if kind is FileKind.PRODUCER_SNAPSHOT:
            entries = set(ProducerSnapshot.parse(data).entries)
            if entries or path.name != file_name(kind, log_start_offset):
                found[path.name] = entries
        elif kind is FileKind.LEADER_EPOCH_CHECKPOINT:
            found[path.name] = data or NO_EPOCHS
        elif kind in COMPARED and (data or kind is FileKind.LOG):
            found[path.name] = data
        elif kind not in COMPARED:
            found[path.name] = None
    return {FileKind.LEADER_EPOCH_CHECKPOINT.value: NO_EPOCHS} | found
