"""What a controller does without being asked."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from replication.standalone.controller_snapshot_thread import ControllerSnapshotThread
from replication.standalone.controller_thread import ControllerThread
from replication.standalone.static_controller import StaticController


@contextmanager
def at_work(controller: StaticController) -> Iterator[None]:
    """Let a controller fence and balance, and take snapshots, which nothing waits for. Raises ResourceLimitError."""
    with ExitStack() as stack:
        for thread in (ControllerThread(controller), ControllerSnapshotThread(controller)):
            stack.callback(thread.stop)
            thread.start()
        yield
