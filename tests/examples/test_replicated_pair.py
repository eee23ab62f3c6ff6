"""examples/replicated_pair.py keeps every acknowledged record, whichever node is killed, and whoever leads."""

import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from examples.replicated_pair import append, client
from logstore import Log
from tests.campaign import Campaign
from tests.oracle.broker import free_port

PROGRAM = Path(__file__).parents[2] / "examples/replicated_pair.py"
KILLS = Campaign("kills of a node of a replicated pair", full=1_000, share=50)
SECONDS = 60


class Pair:
    """Two nodes, of which the driver says who leads, and in which epoch."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self._stack = stack
        self.directories = [root / "one", root / "two"]
        self.epoch = 0
        self.acknowledged: list[bytes] = []
        self.truncated = 0
        self._number = 0

    @contextmanager
    def led_by(self, leader: int) -> Iterator[tuple[subprocess.Popen[str], subprocess.Popen[str], int]]:
        """Run both in the next epoch; in the end the leader is killed, and the follower ends by itself."""
        self.epoch += 1
        port = free_port()
        leads = self._started("lead", self.directories[leader], port, self.epoch)
        follows = self._started("follow", self.directories[1 - leader], port)
        try:
            yield leads, follows, port
        finally:
            leads.kill()
            said, _ = follows.communicate(timeout=SECONDS)
            leads.communicate(timeout=SECONDS)
        if said.startswith("truncated"):
            self.truncated += int(said.split()[1])

    def _started(self, *words: object) -> subprocess.Popen[str]:
        command = [sys.executable, str(PROGRAM), *map(str, words)]
        node = self._stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        self._stack.callback(node.kill)  # before it is waited for, should anything fail
        assert node.stdout is not None
        assert node.stdout.readline().strip() in {"leads", "follows"}
        return node

    def produce(self, connection: socket.socket) -> None:
        """Append a record, and remember it where it is acknowledged. Raises ConnectionError."""
        self._number += 1
        value = b"%d" % self._number
        if append(connection, value) is not None:
            self.acknowledged.append(value)

    def values(self) -> list[list[bytes | None]]:
        """What either log has, with nobody at work."""
        found = []
        for directory in self.directories:
            with Log.open(directory, replicated=True) as log:
                found.append([record.value for record in log.records()])
        return found


def test_no_acknowledged_record_is_lost_whichever_node_is_killed_and_whoever_leads(tmp_path: Path) -> None:
    rng = random.Random(KILLS.seed)
    with ExitStack() as stack:
        pair = Pair(tmp_path, stack)
        for _ in range(KILLS.count):
            with pair.led_by(rng.randrange(2)) as (leads, follows, port):
                victim = rng.choice((leads, follows))
                produced, is_killed = Event(), Event()

                def produce(port: int = port, produced: Event = produced, is_killed: Event = is_killed) -> None:
                    with suppress(ConnectionError), client(("127.0.0.1", port)) as connection:
                        while not is_killed.is_set():
                            pair.produce(connection)
                            produced.set()

                client_thread = Thread(target=produce)
                client_thread.start()
                assert produced.wait(SECONDS)
                time.sleep(rng.random() * 0.1)
                victim.kill()
                is_killed.set()
                client_thread.join(SECONDS)
        with pair.led_by(0) as (_, _, port), client(("127.0.0.1", port)) as connection:
            before = len(pair.acknowledged)
            while len(pair.acknowledged) == before:
                pair.produce(connection)
        one, two = pair.values()
        lost = set(pair.acknowledged) - set(one)
        assert not lost, f"seed {KILLS.seed}"
        assert one[: len(two)] == two[: len(one)], f"seed {KILLS.seed}"
        assert pair.acknowledged[-1] in two
    KILLS.report(KILLS.count, f"{len(pair.acknowledged):,} records acknowledged")


def test_what_a_leader_wrote_alone_is_truncated_once_another_leads(tmp_path: Path) -> None:
    with ExitStack() as stack:
        pair = Pair(tmp_path, stack)
        with pair.led_by(0) as (_, follows, port), client(("127.0.0.1", port)) as connection:
            pair.produce(connection)
            follows.kill()
            pair.produce(connection)
            pair.produce(connection)
        assert pair.acknowledged == [b"1"], "nothing is acknowledged that one node alone has"
        assert pair.values() == [[b"1", b"2", b"3"], [b"1"]]
        with pair.led_by(1) as (_, _, port), client(("127.0.0.1", port)) as connection:
            while pair.acknowledged == [b"1"]:
                pair.produce(connection)
        assert pair.truncated == 2
        one, two = pair.values()
        assert one[0] == two[0] == b"1"
        assert not {b"2", b"3"} & {*one, *two}
        assert one[: len(two)] == two[: len(one)]


def test_a_follower_without_a_leader_does_not_follow(tmp_path: Path) -> None:
    follower = _run("follow", tmp_path / "log", free_port())
    assert follower.returncode == 1
    assert follower.stdout == ""
    assert follower.stderr.splitlines()[-1].startswith("ConnectionRefusedError")


def test_a_node_is_told_what_it_needs_to_lead_or_follow(tmp_path: Path) -> None:
    asked = {("lead", tmp_path / "log", 1): "are required: epoch", ("follow", tmp_path / "log"): "are required: port"}
    for words, complaint in asked.items():
        refused = _run(*words)
        assert refused.returncode == 2
        assert refused.stderr.endswith(f"{complaint}\n")
    assert not (tmp_path / "log").exists()


def test_a_leader_that_a_node_of_a_later_epoch_would_follow_ends(tmp_path: Path) -> None:
    with Log.open(tmp_path / "two", replicated=True) as log:
        log.lead(2).append([b"of epoch 2"])
    with ExitStack() as stack:
        pair = Pair(tmp_path, stack)
        with pair.led_by(0) as (leads, _, _):
            assert leads.wait(SECONDS) == 0
            assert leads.stdout is not None
            assert leads.stdout.read() == "leads no more: a later epoch has a leader\n"


def _run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
