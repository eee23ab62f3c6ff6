"""What a forked process leaves alone."""

import os
import sys

import pytest

from epoch.base.forked import detach_after_fork


class Owned:
    """Remembers whether it was detached."""

    is_detached = False

    def detach(self) -> None:
        self.is_detached = True


class Broken:
    """Cannot be detached."""

    def detach(self) -> None:
        raise OSError


def test_what_cannot_be_detached_keeps_nothing_else_from_it() -> None:
    things = [Owned() if number % 2 else Broken() for number in range(20)]
    for thing in things:
        detach_after_fork(thing)
    child = os.fork()
    if not child:
        sys.unraisablehook = lambda _: None
        os._exit(not all(thing.is_detached for thing in things if isinstance(thing, Owned)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("broken", [0, 2])
def test_what_cannot_be_detached_is_reported_all_at_once(broken: int) -> None:
    things = [Broken() for _ in range(broken)]
    for thing in things:
        detach_after_fork(thing)
    reader, writer = os.pipe()
    sys.unraisablehook, hook = (lambda told: os.write(writer, repr(told.exc_value).encode())), sys.unraisablehook
    child = os.fork()
    if not child:
        os._exit(0)
    sys.unraisablehook = hook
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as told:
        assert told.read().count("OSError()") == broken
