"""A request to stop: it may come from a signal handler, wherever that interrupts the thread that waits."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from replication.base.stop_request import StopRequest, StopRequestedError
from replication.cli.serving.until_told import until_told

ROOT = Path(__file__).parents[3]
PROGRAM = """
import faulthandler, os, signal, sys
from pathlib import Path
from logstore import Log, TopicPartition
from replication.cli.serving.until_told import until_told
from replication.cluster.fetcher.follower import Follower
from replication.base.stop_request import StopRequest

faulthandler.dump_traceback_later(60, exit=True)  # where it hangs, say where
WAITS = {"threading.py", "stop_request.py"}

def interrupted_at(chosen, wait):
    # Send a signal before the chosen line of those that waiting runs; return whether it has so many.
    passed = 0
    def trace(frame, event, _):
        nonlocal passed
        if Path(frame.f_code.co_filename).name in WAITS and event == "line":
            passed += 1
            if passed == chosen:
                sys.settrace(None)
                os.kill(os.getpid(), signal.SIGTERM)
        return trace
    sys.settrace(trace)
    try:
        wait()
    finally:
        sys.settrace(None)
    return passed >= chosen
"""
OF_A_FOLLOWER = """
with Log.open(sys.argv[1] + "/orders-0") as log:
    for line in range(1, 8):
        follower = Follower("127.0.0.1:1", TopicPartition("orders", 0), log)
        signal.signal(signal.SIGTERM, lambda *_: follower.stop())
        assert interrupted_at(line, follower.run)
        follower.close()
"""
OF_THE_MIRROR = """
for line in range(1, 8):
    with until_told() as told:
        assert interrupted_at(line, lambda: told.wait(60))
"""


@pytest.mark.parametrize("waiting", [OF_A_FOLLOWER, OF_THE_MIRROR], ids=["a follower", "the mirror command"])
def test_a_signal_handler_may_make_it_wherever_it_interrupts_the_thread_that_waits(
    waiting: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + waiting, tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def wait_with_a_signal() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    Event().wait(3_600)


def test_a_signal_breaks_off_what_may_be_broken_off_and_nothing_else() -> None:
    done = []
    with until_told() as told:
        with pytest.raises(StopRequestedError), told.breaking_off():
            wait_with_a_signal()
        assert told.is_made
        with pytest.raises(StopRequestedError), told.breaking_off():
            done.append("nothing is begun that would be broken off")
    with until_told() as told:
        with told.breaking_off():
            done.append("what is done before")
        os.kill(os.getpid(), signal.SIGTERM)
        assert told.wait(3_600)
    assert done == ["what is done before"]


def test_what_is_waited_for_is_seen_until_a_stop_is_requested() -> None:
    stop, asked = StopRequest(), []

    def wait(seconds: float) -> bool:
        asked.append(seconds)
        return len(asked) == 3

    assert stop.until(wait, 60)
    assert len(asked) == 3
    assert max(asked) < 1, "a stop would be noticed late"
    assert not stop.until(lambda _: False, 0)
    stop.make()
    with pytest.raises(StopRequestedError):
        stop.until(wait, 60)
