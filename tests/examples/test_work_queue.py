"""examples/work_queue.py books each payment once, whichever process is killed, and whoever owns the queue."""

import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from examples.work_queue import Ledger, book, pay
from logstore.queue import QueueCounts, WorkQueue
from tests.campaign import Campaign

PROGRAM = Path(__file__).parents[2] / "examples/work_queue.py"
KILLS = Campaign("kills of a process of a work queue", full=500, share=10)
SECONDS = 60
PROCESSES = 3
PRODUCE = """
import itertools, sys
from pathlib import Path
from examples.work_queue import pay
from logstore.queue import WorkQueue
with WorkQueue.open(Path(sys.argv[1]) / "payments") as queue:
    print("pays", flush=True)
    for number in itertools.count():
        amounts = [number % 7 + 1] * 5
        print("asked", sum(amounts), flush=True)
        ids = pay(queue, sys.argv[2], amounts)
        print("told", *ids, flush=True)
"""


class Bank:
    """Processes that book, and one that pays; what the one that pays was told is kept in files."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self._root = root
        self._stack = stack
        self._told: list[Path] = []
        self.processes: list[subprocess.Popen[bytes]] = [self._pays()]
        self.processes += [self._books() for _ in range(PROCESSES)]

    def kill(self, number: int) -> None:
        """Kill a process, and start another one in its place."""
        self.processes[number].kill()
        self.processes[number].wait(SECONDS)
        self.processes[number] = self._books() if number else self._pays()

    def told(self) -> dict[str, list[list[str]]]:
        """By account, which payments were asked for and confirmed, of each producer one."""
        return {path.name: [line.split() for line in path.read_text().splitlines()] for path in self._told}

    def _pays(self) -> subprocess.Popen[bytes]:
        self._told.append(self._root / f"account-{len(self._told)}")
        with self._told[-1].open("wb") as told:
            return self._started([sys.executable, "-c", PRODUCE, str(self._root), self._told[-1].name], told)

    def _books(self) -> subprocess.Popen[bytes]:
        return self._started([sys.executable, str(PROGRAM), "book", str(self._root)], subprocess.DEVNULL)

    def _started(self, command: list[str], output: object) -> subprocess.Popen[bytes]:
        root = PROGRAM.parents[1]
        process = self._stack.enter_context(subprocess.Popen(command, stdout=output, cwd=root))  # type: ignore[call-overload]
        self._stack.callback(process.kill)
        return process


def test_each_payment_is_booked_once_whichever_process_is_killed(tmp_path: Path) -> None:
    rng = random.Random(KILLS.seed)
    ledger = Ledger(tmp_path / "ledger.db")
    with ExitStack() as stack:
        bank = Bank(tmp_path, stack)
        for _ in range(KILLS.count):
            before = len(ledger.booked())
            while len(ledger.booked()) < before + 20:
                time.sleep(0.01)
            time.sleep(rng.random() * 0.1)
            bank.kill(rng.randrange(PROCESSES + 1))
        for process in bank.processes:
            process.kill()
            process.wait(SECONDS)
        told = bank.told()
    with WorkQueue.open(tmp_path / "payments") as queue:
        while sum(queue.counts()):
            book(queue, ledger, wait=1)
        assert queue.counts() == QueueCounts(0, 0, 0, 0)
    confirmed = {account: [line for line in lines if line[0] == "told"] for account, lines in told.items()}
    ids = [int(item) for lines in confirmed.values() for line in lines for item in line[1:]]
    assert max(Counter(ids).values()) == 1, f"seed {KILLS.seed}"
    assert {*ids} <= ledger.booked(), f"seed {KILLS.seed}"
    balances = ledger.balances()
    for account, lines in told.items():
        asked = [int(line[1]) for line in lines if line[0] == "asked"]
        known = len(confirmed[account])
        assert balances.get(account, 0) in {sum(asked[:known]), sum(asked)}, f"seed {KILLS.seed}, {account}"
    ledger.close()
    KILLS.report(KILLS.count, f"{len(ids):,} payments confirmed")


def test_a_payment_that_comes_twice_is_booked_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    with WorkQueue.open(tmp_path / "payments") as queue:
        pay(queue, "ada", [5, 7])
        for item in queue.take(max_items=2):
            ledger.book([item])
            item.nack()  # as if the process had died before the ack
        assert book(queue, ledger, wait=0) == 2
    assert ledger.balances() == {"ada": 12}
    ledger.close()


def test_the_program_pays_by_hand(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), "pay", str(tmp_path), "ada", "5", "7"]
    paid = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert paid.stdout == "0 1\n"
    ledger = Ledger(tmp_path / "ledger.db")
    with WorkQueue.open(tmp_path / "payments") as queue:
        book(queue, ledger, wait=0)
    assert ledger.balances() == {"ada": 12}
    ledger.close()
