"""Power loss on real file systems: record what logs make ext4, xfs and btrfs write, crash at any point, and look.

`make test-filesystems` runs this as root, on a Linux with loop devices and FUSE. All mounts are made in a namespace of
their own: nobody else sees them, and they are gone when it ends, however that comes about.
"""

import argparse
import importlib
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.campaign import run_seed
from tests.filesystems.crash_images import CrashPoint
from tests.filesystems.marking_disk import MarkingDisk, NeverSyncingDisk
from tests.filesystems.mounting import KINDS, FileSystemKind, unmount_below
from tests.filesystems.power_loss import PowerLoss, copy
from tests.logstore.log_workloads import NAMED_LIVES, RANDOM_LIVES

ISOLATED = "EPOCHLOG_MOUNTS_ARE_ISOLATED"
NAMESPACE = ("unshare", "--mount")
MEMORY = Path("/dev/shm")  # noqa: S108  only the place; the name below it is fresh
KEPT = Path("build/filesystems")
PROOF_POINTS = 100
MOST_FAILURES = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"which of {', '.join(KINDS)}; all by default")
    parser.add_argument("--crashes", type=int, default=150, help="crashes looked at per life, if it has fewer flushes")
    parser.add_argument("--random-lives", type=int, default=3, help=f"random lives, of {RANDOM_LIVES}")
    parser.add_argument("--seed", type=int, default=run_seed())
    options = parser.parse_args()
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"{unknown.pop()!r} (choose from {', '.join(KINDS)})")
    kinds = [KINDS[name] for name in options.kinds or KINDS]
    if lacking := list(missing(kinds)):
        sys.stderr.writelines(f"Missing: {each}\n" for each in lacking)
        return 2
    if os.environ.get(ISOLATED) != "1":
        command = [*NAMESPACE, sys.executable, "-m", "tests.filesystems", *sys.argv[1:]]
        os.execvpe(command[0], command, os.environ | {ISOLATED: "1"})  # noqa: S606  arguments, no shell
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    print(f"seed {options.seed}")
    lives = [*NAMED_LIVES, *(str((options.seed + number) % RANDOM_LIVES) for number in range(options.random_lives))]
    failed = 0
    for kind in kinds:
        prove(kind, options.seed)
        failed += replay(kind, lives, options.crashes, options.seed)
    return 1 if failed else 0


def missing(kinds: list[FileSystemKind]) -> Iterator[str]:
    """What this needs and does not find, with what to do about it."""
    if sys.platform != "linux" or os.geteuid() != 0:
        yield "root on Linux: only root mounts file systems"
    for device in ("/dev/loop-control", "/dev/fuse"):
        if not Path(device).exists():
            yield f"{device}: use a machine, or a container, whose kernel has it"
    programs = {"unshare", "setpriv", "mount", "umount", *(kind.make[0] for kind in kinds)}
    for program in sorted(each for each in programs if shutil.which(each) is None):
        yield f"{program}: tests/install filesystems installs it on Debian"
    try:
        importlib.import_module("mfusepy")
    except ImportError:
        yield "mfusepy: .venv/bin/python -m pip install --group filesystems"
    except OSError:
        yield "libfuse: tests/install filesystems installs it on Debian"


def prove(kind: FileSystemKind, seed: int) -> None:
    """See that this can fail: a log whose syncs do nothing must be found."""
    with workplace() as place:
        loss = PowerLoss.record(kind, "leader", place, seed, NeverSyncingDisk)
        tried = 0
        for tried, (_, error) in enumerate(loss.failures(loss.points(PROOF_POINTS, seed)), 1):
            if isinstance(error, AssertionError):
                print(f"{kind.name}: a log that never syncs is found at crash {tried}: {error}", flush=True)
                return
    raise SystemExit(f"{kind.name}: a log that never syncs is not found in {tried} crashes; this test proves nothing")


def replay(kind: FileSystemKind, lives: list[str], crashes: int, seed: int) -> int:
    """Go through crashes of all lives; print how many there were, and return how many failed."""
    checked = failed = possible = writes = flushes = 0
    for life in lives:
        with workplace() as place:
            loss = PowerLoss.record(kind, life, place, seed, MarkingDisk)
            points = loss.points(crashes, seed)
            possible += loss.possible(seed)
            writes, flushes = writes + loss.writes, flushes + loss.flushes
            for point, error in loss.failures(points):
                checked += 1
                if error is not None:
                    failed += 1
                    report(loss, life, point, error)
                if failed >= MOST_FAILURES:
                    print(f"{kind.name}: {failed} failures are enough")
                    return failed
    print(
        f"{kind.name}: {len(lives)} lives, {writes:,} writes, {flushes:,} flushes; "
        f"{checked:,} crashes of {possible:,} checked, {failed} failed",
        flush=True,
    )
    return failed


def report(loss: PowerLoss, life: str, point: CrashPoint, error: BaseException) -> None:
    """Print what is wrong, and keep the image: what the kernel writes of a life is not the same twice."""
    KEPT.mkdir(parents=True, exist_ok=True)
    image = KEPT / f"{loss.kind.name}-{life}-{point.position}.image"
    copy(loss.failed, image)
    print(f"{loss.kind.name}: life {life}, promised {loss.disk.facts[point.mark]}, {point}; the disk is {image}")
    traceback.print_exception(error, file=sys.stdout)


@contextmanager
def workplace() -> Iterator[Path]:
    """A directory in memory where there is one."""
    with TemporaryDirectory(prefix="epochlog-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as directory:
        try:
            yield Path(directory)
        finally:
            unmount_below(Path(directory))


if __name__ == "__main__":
    sys.exit(main())
