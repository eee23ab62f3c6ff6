"""Logs that go on behind segments of any size before these are synced."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from logstore.log import late_sync, segment_roller


@contextmanager
def late_syncs(*, are_late: bool = True, have_threads: bool = False) -> Iterator[None]:
    """Each roll leaves its sync to a thread, or to the next call that needs it: the disk is as slow as can be."""
    with pytest.MonkeyPatch.context() as patch:
        if are_late:
            patch.setattr(segment_roller, "SYNCED_AT_ONCE", 0)
        if not have_threads:
            patch.setattr(late_sync, "start_new_thread", _never_begin)
        yield


def _never_begin(_work: object, _arguments: object) -> None:
    pass
