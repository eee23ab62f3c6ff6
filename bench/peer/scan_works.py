"""Walking over a log file: headers, checksums, records."""

from collections.abc import Callable
from functools import partial
from itertools import product

from bench.peer.files import Logs, decoded
from bench.peer.kafka_timer import KafkaTimer
from bench.peer.turns import Settings, Timed, take_turns
from bench.results import KAFKA, OURS, Row
from logstore.batch.columns import BatchColumns
from logstore.offline.header_scan import scan_headers
from logstore.offline.log_file import LogFile


class ScanWorks:
    """A log file of one segment; Kafka maps no logs, and reads a touched mapping's file as it does any other."""

    group = "scan"
    timer = "ScanTimer"

    def __init__(self, settings: Settings, logs: Logs, kafka: KafkaTimer | None) -> None:
        self._settings = settings
        self._logs = logs
        self._kafka = kafka

    def works(self) -> dict[str, Callable[[str], Row]]:
        """Return all kinds of work by name."""
        return {
            **self._scans("header scan", "headers"),
            **self._scans("scan with checksums", "checksums"),
            "records as columns": self._decode,
        }

    def _scans(self, name: str, what: str) -> dict[str, Callable[[str], Row]]:
        works: dict[str, Callable[[str], Row]] = {}
        for mapping, threads in product(("touched", "fresh"), (1, 2)):
            if (what, mapping, threads) == ("headers", "touched", 2):
                continue  # as fast as one thread: reading headers waits for memory, and copies columns
            in_threads = ", by two threads" if threads == 2 else ""
            scan = partial(self._scan, what, touched=mapping == "touched", threads=threads)
            works[f"{name}, {mapping} mapping{in_threads}"] = scan
        return works

    def _scan(self, what: str, name: str, *, touched: bool, threads: int) -> Row:
        if threads > 1 and self._settings.clock != "wall":
            return Row(name, group=self.group, skipped="what several threads do is measured by wall time")
        path, _ = self._logs.segment(self._settings.size)
        check_crc = what == "checksums"
        kept = LogFile.open(path)

        def scan() -> list[BatchColumns]:
            if touched:
                return list(kept.scan(check_crc=check_crc, threads=threads))
            if not check_crc:
                return list(scan_headers(path, threads=threads))
            with LogFile.open(path) as file:
                # Unmapped on the way out: columns hold nothing of the mapping.
                return list(file.scan(threads=threads))

        def ours() -> Timed:
            spent, chunks = self._settings.time(scan)
            return Timed(spent, _checked(chunks) if check_crc else _headers(chunks))

        items = sum(map(len, kept.scan(check_crc=False)))
        row = Row(name, items=items, unit="batches", group=self.group)
        row.bytes = path.stat().st_size if check_crc else 0
        return self._beside_kafka(row, what, ours)

    def _decode(self, name: str) -> Row:
        path, _ = self._logs.segment(self._settings.size)
        kept = LogFile.open(path)

        def decode() -> int:
            return sum(map(len, decoded(kept)))

        answer = sum(int(records.offset.sum() + records.value_length.sum()) for records in decoded(kept))

        def ours() -> Timed:
            spent, _ = self._settings.time(decode)
            return Timed(spent, answer)

        return self._beside_kafka(Row(name, items=decode(), unit="records", group=self.group), "records", ours)

    def _beside_kafka(self, row: Row, what: str, ours: Callable[[], Timed]) -> Row:
        path, _ = self._logs.segment(self._settings.size)
        sides = {OURS: ours}
        if self._kafka is not None:
            sides[KAFKA] = partial(self._kafka.ask, what, path)
        return take_turns(row, sides, self._settings)


def _headers(chunks: list[BatchColumns]) -> int:
    return sum(int((each.last_offset + each.max_timestamp + each.leader_epoch).sum()) for each in chunks)


def _checked(chunks: list[BatchColumns]) -> int:
    assert all(each.crc_valid.all() for each in chunks)
    return sum(int(each.last_offset.sum()) for each in chunks)
