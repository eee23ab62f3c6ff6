"""Copies of directories from before and after a recovery: made before all else, and compared at last."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from replication.base.next_step import Step
from replication.copies.planning.broker_roots import KEPT, NEW

BROKERS: Final = "BROKER:9092"
"""Stands for an address that only the reader knows."""


def back_up(roots: Sequence[str]) -> Step:
    """Return the step that backs up directories: one that is backed up already is only named."""
    local = [root for root in dict.fromkeys(roots) if "://" not in root]
    kept = [root for root in local if os.path.lexists(kept_copy(root))]
    if kept == local and kept:
        return Step(
            f"Keep the backups that there are beside the directories, under their names with {KEPT}. Back up those of "
            "brokers and controllers that are not named here, if that is not done yet: what a start truncates is gone"
        )
    return Step(
        "Back up. Copy the directories of all brokers and controllers before any starts, also of those that are not "
        "named here: what a start truncates is gone. If these are the brokers' own, the commands do it, once. If these "
        "are copies, whatever a step changes in them has to be changed in the brokers' own directories as well",
        tuple(_copy_once(root) for root in local if root not in kept),
    )


def kept_copy(root: str) -> str:
    """Name the backup of a directory; it may be one itself."""
    return root if root.endswith(KEPT) else f"{root}{KEPT}"


def _copy_once(root: str) -> str:
    """Return what copies a directory, not the link to it: not into the copy of an earlier time, nor over it."""
    kept = shlex.quote(kept_copy(root))
    copied = shlex.quote(f"{root}/." if Path(root).is_symlink() else root)
    return f"test -e {kept} || cp -a --reflink=auto {copied} {kept}"


def look_again(roots: Sequence[str], bootstrap: str) -> Step:
    """Ask for this command once more, where a step before changes what there is."""
    named = "" if bootstrap == BROKERS else f" --bootstrap {shlex.quote(bootstrap)}"
    return Step(
        "Run this again once that is done, and continue with what it says then. The steps after this one are "
        "preliminary: follow them only if all that it still asks for cannot be done, such as to find a disk that is "
        "gone for good",
        (f"{_incident(roots)}{named}",),
    )


def _incident(roots: Sequence[str]) -> str:
    return f"epochlog incident {' '.join(map(shlex.quote, roots))}"


def compare_at_last(roots: Sequence[str], bootstrap: str) -> Step:
    """Return the step that verifies that all is well, and what that has cost."""
    new = [f"{root.removesuffix(KEPT)}{NEW}" for root in roots]
    return Step(
        "Verify, once all brokers have run for two minutes: only then have they written down what they know of their "
        "logs. If nothing is listed below the heading, nothing is under-replicated. Then, while nobody writes, copy "
        f"the brokers' directories as they are by now, here to names that end in {NEW}, and compare them with those "
        "that you have kept: the first line begins with Done once all is well, and says what is gone",
        (
            f"epochlog cluster --bootstrap {bootstrap} --under-replicated",
            _comparison(new, [kept_copy(root) for root in roots]),
        ),
    )


def compare_again(roots: Sequence[str], kept: Sequence[str]) -> Step:
    """Ask for newer copies, to be compared with the same that were kept."""
    return Step(
        "Copy the brokers' directories again, in place of these, two minutes after the last of them was started and "
        "while nobody writes, and compare again",
        (_comparison(roots, kept),),
    )


def _comparison(roots: Sequence[str], kept: Sequence[str]) -> str:
    before = " ".join(f"--before {shlex.quote(root)}" for root in kept if "://" not in root)
    return f"{_incident(roots)} {before}".rstrip()
