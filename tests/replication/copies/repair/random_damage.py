"""Damage to a partition's directory, of every kind that another replica can heal."""

import random
from collections.abc import Callable
from pathlib import Path

from logstore.errors import LogStoreError
from logstore.file_name import INDEX_KINDS, FileKind, file_name, parse_file_name
from logstore.files.producer_snapshot import ProducerSnapshot
from logstore.offline.log_file import LogFile

Damage = Callable[[random.Random, Path], None]


def logs(directory: Path) -> list[Path]:
    return sorted(each for each in directory.iterdir() if parse_file_name(each.name).kind is FileKind.LOG)


def some_log(rng: random.Random, directory: Path) -> Path | None:
    return rng.choice([each for each in logs(directory) if each.stat().st_size] or [None])


def flip_bits(rng: random.Random, directory: Path) -> None:
    """A few bits anywhere in a log, headers and all."""
    if path := some_log(rng, directory):
        data = bytearray(path.read_bytes())
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)


def zero_pages(rng: random.Random, directory: Path) -> None:
    """Pages that were never written, but for the log's last ones, which look like space that was preallocated."""
    if path := some_log(rng, directory):
        data = bytearray(path.read_bytes())
        first = rng.randrange(0, len(data), 4096)
        last = min(first + 4096 * rng.randint(1, 3), len(data))
        data[first:last] = bytes(last - first)
        path.write_bytes(data)


def write_garbage(rng: random.Random, directory: Path) -> None:
    """Other bytes over some."""
    if path := some_log(rng, directory):
        data = bytearray(path.read_bytes())
        first = rng.randrange(len(data))
        size = min(rng.choice([1, 20, 500, 10_000]), len(data) - first)
        data[first : first + size] = rng.randbytes(size)
        path.write_bytes(data)


def cut_off(rng: random.Random, directory: Path) -> None:
    """The end of a log file is gone, wherever that is."""
    if path := some_log(rng, directory):
        size = path.stat().st_size
        with open(path, "r+b") as file:
            file.truncate(rng.randrange(size))


def cut_out(rng: random.Random, directory: Path) -> None:
    """Some bytes are gone, and the rest moved up."""
    if path := some_log(rng, directory):
        data = path.read_bytes()
        first = rng.randrange(len(data))
        path.write_bytes(data[:first] + data[first + rng.randint(1, 3_000) :])


def cut_out_batches(rng: random.Random, directory: Path) -> None:
    """Whole batches are gone."""
    if path := some_log(rng, directory):
        with LogFile.open(path) as log:
            try:
                positions = [batch.position for batch in log.batches()]
            except LogStoreError:  # damaged already
                return
        data = path.read_bytes()
        first = rng.randrange(len(positions))
        last = min(first + rng.randint(1, 2), len(positions))
        end = positions[last] if last < len(positions) else len(data)
        path.write_bytes(data[: positions[first]] + data[end:])


def repeat_batch(rng: random.Random, directory: Path) -> None:
    """A batch is there twice, the second time anywhere later."""
    if path := some_log(rng, directory):
        with LogFile.open(path) as log:
            try:
                ends = [(batch.position, batch.position + batch.size) for batch in log.batches()]
            except LogStoreError:  # damaged already
                return
        data = path.read_bytes()
        first, end = rng.choice(ends)
        place = rng.choice([each for _, each in ends if each >= end])
        path.write_bytes(data[:place] + data[first:end] + data[place:])


def append_garbage(rng: random.Random, directory: Path) -> None:
    """Bytes behind a log's last batch."""
    if path := some_log(rng, directory):
        size = rng.randint(1, 3_000)
        path.write_bytes(path.read_bytes() + rng.choice([rng.randbytes(size), bytes(size)]))


def remove_log(rng: random.Random, directory: Path) -> None:
    """A segment's log is gone."""
    if path := some_log(rng, directory):
        path.unlink()


def remove_segment(rng: random.Random, directory: Path) -> None:
    """A segment's log is gone, with its indexes."""
    if path := some_log(rng, directory):
        path.unlink()
        for kind in INDEX_KINDS:
            path.with_name(file_name(kind, parse_file_name(path.name).base_offset or 0)).unlink(missing_ok=True)


def empty_log(rng: random.Random, directory: Path) -> None:
    """A segment's log has no bytes."""
    if path := some_log(rng, directory):
        path.write_bytes(b"")


def damage_index(rng: random.Random, directory: Path) -> None:
    """An index is gone, cut, or has other bytes."""
    kinds = {FileKind.OFFSET_INDEX, FileKind.TIME_INDEX}
    paths = sorted(each for each in directory.iterdir() if parse_file_name(each.name).kind in kinds)
    for path in rng.sample(paths, min(2, len(paths))):
        size = path.stat().st_size
        match rng.randrange(3):
            case 0:
                path.unlink()
            case 1:
                path.write_bytes(rng.randbytes(size))
            case _:
                path.write_bytes(path.read_bytes()[: size // 2 + 1])


def damage_epochs(rng: random.Random, directory: Path) -> None:
    """The leader epochs are gone, or no text that can be read."""
    path = directory / "leader-epoch-checkpoint"
    match rng.randrange(3):
        case 0:
            path.unlink(missing_ok=True)
        case 1:
            path.write_bytes(b"")
        case _:
            path.write_bytes(rng.randbytes(30))


def damage_snapshot(rng: random.Random, directory: Path) -> None:
    """A producer snapshot has other bytes, or is sound and says what is wrong."""
    paths = sorted(directory.glob("*.snapshot"))
    if paths:
        path = rng.choice(paths)
        try:
            [first, *rest] = ProducerSnapshot.read(path).entries
        except (LogStoreError, ValueError):
            path.write_bytes(rng.randbytes(path.stat().st_size))
        else:
            wrong = first._replace(last_sequence=first.last_sequence + 1)
            sound = ProducerSnapshot((wrong, *rest)).encode()
            path.write_bytes(rng.choice([sound, rng.randbytes(len(sound))]))


TO_THE_LOG: tuple[Damage, ...] = (
    flip_bits,
    zero_pages,
    write_garbage,
    cut_off,
    cut_out,
    cut_out_batches,
    repeat_batch,
    append_garbage,
    remove_log,
    remove_segment,
    empty_log,
)
BESIDE_IT: tuple[Damage, ...] = (damage_index, damage_epochs, damage_snapshot)
