"""EpochOracle's commands, carried out on our cache and answered in the same words."""

from pathlib import Path

from epoch import CheckpointError, EpochEntry, InvalidEpochEntryError, LeaderEpochFileCache

ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r"}


class OurCache:
    """One cache over `root`, reset as often as asked.

    `script` collects the lines for Kafka. It has one more than was asked for, `tasks`, wherever ours wrote what
    Kafka leaves to a task: assigning makes an earlier truncation durable first.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._generation = 0
        root.mkdir(exist_ok=True)
        self._reset()

    def run(self, lines: list[str]) -> tuple[list[str], list[str]]:
        """Return the lines for Kafka, and our answers to them."""
        script: list[str] = []
        answers: list[str] = []
        for line in lines:
            pending = self.cache.pending
            script.append(line)
            answers.append(self.answer(line))
            if pending and not self.cache.pending and line.split()[0] not in {"crash", "reset"}:
                script.append("tasks")
                answers.append("ok")
        return script, answers

    def answer(self, line: str) -> str:
        """Carry out one command."""
        try:
            return self._answer(line)
        except (InvalidEpochEntryError, CheckpointError):
            return "ERR"

    def _answer(self, line: str) -> str:
        command, _, rest = line.partition(" ")
        cache = self.cache
        if command == "writeFile":
            for escape, character in ESCAPES.items():
                rest = rest.replace(escape, character)
            self._file.write_bytes(rest.encode())
            return "ok"
        if command == "assignMany":
            cache.assign_many([tuple(map(int, entry.split(":"))) for entry in rest.split()])
            return "ok"
        numbers = list(map(int, rest.split()))
        match command, numbers:
            case "end", [epoch, log_end_offset]:
                return "{} {}".format(*cache.end_offset_for(epoch, log_end_offset))
            case "range", [start, end]:
                return _all(cache.entries_in_range(start, end))
            case "epochForOffset", [offset]:
                return _number(cache.epoch_for_offset(offset))
            case "prev", [epoch]:
                return _epoch(cache.previous_entry(epoch))
            case "next", [epoch]:
                return _epoch(cache.next_entry(epoch))
            case "prevEntry", [epoch]:
                return _entry(cache.previous_entry(epoch))
            case "entry", [epoch]:
                return _entry(cache.entry_for(epoch))
            case "prev", []:
                return _number(cache.previous_epoch)
            case "latest", []:
                return _entry(cache.latest)
            case "latestEpoch", []:
                return _number(cache.latest_epoch)
            case "earliest", []:
                return _entry(cache.earliest)
            case "nonEmpty", []:
                return str(len(cache) > 0).lower()
            case "entries", []:
                return _all(cache.entries)
            case "fileNow", []:
                return self._file_text()
            case "file", []:
                cache.flush()
                return self._file_text()
            case _:
                self._change(command, numbers)
                return "ok"

    def _change(self, command: str, numbers: list[int]) -> None:
        match command, numbers:
            case "assign", [epoch, start]:
                self.cache.assign(epoch, start)
            case "truncateEnd", [offset]:
                self.cache.truncate_to(offset)
            case "truncateStart", [offset]:
                self.cache.truncate_from_start(offset)
            case "clear", []:
                self.cache.clear()
            case "clearAndFlush", []:
                self.cache.clear_and_flush()
            case "tasks", []:
                self.cache.flush()
            case "reload", []:
                self.cache.flush()
                self.cache = LeaderEpochFileCache.open(self._file.parent)
            case "crash", []:
                self.cache = LeaderEpochFileCache.open(self._file.parent)
            case "reset", []:
                self._reset()
            case _:
                raise AssertionError(f"{command} {numbers} is no command of the oracle")

    def _reset(self) -> None:
        self._generation += 1
        directory = self._root / str(self._generation)
        directory.mkdir()
        self._file = directory / "leader-epoch-checkpoint"
        self.cache = LeaderEpochFileCache.open(directory)

    def _file_text(self) -> str:
        # Kafka makes an empty file when it opens a partition; ours appears with the first entry.
        text = self._file.read_bytes().decode() if self._file.exists() else ""
        return text.replace("\r", "\\r").replace("\n", "\\n")


def _number(number: int | None) -> str:
    return "none" if number is None else str(number)


def _epoch(entry: EpochEntry | None) -> str:
    return "none" if entry is None else str(entry.epoch)


def _entry(entry: EpochEntry | None) -> str:
    return "none" if entry is None else f"{entry.epoch} {entry.start_offset}"


def _all(entries: list[EpochEntry]) -> str:
    return " ".join(f"{epoch}:{start}" for epoch, start in entries) or "empty"
