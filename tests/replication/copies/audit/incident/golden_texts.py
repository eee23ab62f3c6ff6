"""What `epochlog incident` prints of a few incidents, to be read as somebody does who has to act on it.

`python -m tests.replication.copies.audit.incident.golden_texts` writes the texts anew. Read the difference before you
commit.
"""

import shutil
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.data.replicas import damaged, replicas
from tests.replication.cli.command import epochlog

GOLDEN: Final = Path(__file__).parent / "golden"
ELECTED: Final = Path(__file__).parents[4] / "data/elected/quiet-4.3.1.tar.xz"
Words = list[str]


def elected_uncleanly_before(place: Path) -> Words:
    """Kafka would elect the broker that has less."""
    with tarfile.open(ELECTED) as archive:
        archive.extractall(place, filter="data")
    return ["broker-1", "broker-2", "controller-100"]


def disk_replaced_by_an_empty_one(place: Path) -> Words:
    """The broker that Kafka elects has a new disk."""
    named = elected_uncleanly_before(place)
    shutil.rmtree(place / "broker-2/quiet-0")
    return named


def last_leader_not_at_hand(place: Path) -> Words:
    """Of the only copy here nothing tells that it has everything."""
    elected_uncleanly_before(place)
    return ["broker-1", "controller-100"]


def backed_up_already(place: Path) -> Words:
    """The command is run once more."""
    named = elected_uncleanly_before(place)
    for name in named:
        shutil.copytree(place / name, place / f"{name}.kept")
    return named


def nothing_to_do(place: Path) -> Words:
    """All copies agree, but for the metadata, of which one lags."""
    named = elected_uncleanly_before(place)
    shutil.rmtree(place / "broker-2/quiet-0")
    shutil.copytree(place / "broker-1/quiet-0", place / "broker-2/quiet-0")
    return named


def forked(place: Path) -> Words:
    """Two leaders wrote, and no metadata tells whom Kafka elects."""
    shutil.copytree(replicas("diverged"), place, dirs_exist_ok=True)
    return ["broker-1", "broker-2", "broker-3"]


def forked_in_full(place: Path) -> Words:
    """The same with all that is known."""
    return [*forked(place), "--verbose"]


def recovered(place: Path) -> Words:
    """The same after its runbook."""
    for name in ("broker-1", "broker-2", "broker-3"):
        shutil.copytree(replicas("diverged") / name, place / f"{name}.kept")
        shutil.copytree(replicas("reconciled") / name, place / f"{name}.new")
    before = [word for number in (1, 2, 3) for word in ("--before", f"broker-{number}.kept")]
    return [*(f"broker-{number}.new" for number in (1, 2, 3)), *before]


def damaged_batch(place: Path) -> Words:
    """A copy that another can heal."""
    damaged("record_bitflip", place)
    return ["broker-1", "broker-2", "broker-3"]


CASES: Final[Mapping[str, Callable[[Path], Words]]] = {
    each.__name__: each
    for each in (
        elected_uncleanly_before,
        disk_replaced_by_an_empty_one,
        last_leader_not_at_hand,
        backed_up_already,
        nothing_to_do,
        forked,
        forked_in_full,
        recovered,
        damaged_batch,
    )
}


def printed(name: str, place: Path) -> str:
    """Let an incident be in a directory, and return what is printed of it there."""
    words = CASES[name](place)
    given = [str(place / word) if (place / word).exists() else word for word in words]
    shown = f"$ epochlog incident {' '.join(words)}\n"
    return shown + epochlog("incident", *given).out.replace(f"{place}/", "")


if __name__ == "__main__":
    for case in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            (GOLDEN / f"{case}.txt").write_text(printed(case, Path(scratch)), encoding="utf-8")
