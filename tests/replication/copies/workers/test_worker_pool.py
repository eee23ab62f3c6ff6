"""Processes that share work: results in order, errors as they are, and what dies is replaced."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from replication.base.errors import WorkerDiedError
from replication.copies.workers.worker_calls import Call
from replication.copies.workers.worker_pool import ATTEMPTS, Worker, WorkerPool
from tests.replication.copies.audit.local import calls


def test_results_come_in_the_order_of_the_arguments() -> None:
    with WorkerPool(2) as pool:
        slow_first = [(number, 0.05 if number == 0 else 0.0) for number in range(20)]
        assert list(pool.map(calls.squared_after, slow_first)) == [number**2 for number in range(20)]


def test_without_workers_this_process_does_the_work() -> None:
    with WorkerPool(0) as pool:
        assert list(pool.map(calls.process_id, [(), ()])) == [os.getpid()] * 2


def test_several_processes_work() -> None:
    with WorkerPool(2) as pool:
        found = set(pool.map(calls.process_id_after, [(0.2,)] * 4))
    assert len(found) == 2
    assert os.getpid() not in found


def test_what_a_function_raises_is_raised_here_and_the_worker_goes_on() -> None:
    with WorkerPool(1) as pool:
        with pytest.raises(FileNotFoundError, match="nowhere"):
            list(pool.map(calls.raise_error, [(FileNotFoundError(2, "no such file", "nowhere"),)]))
        first, second = list(pool.map(calls.process_id, [(), ()]))
    assert first == second


def test_a_worker_that_is_killed_is_replaced_and_its_work_is_done_again(tmp_path: Path) -> None:
    with WorkerPool(2) as pool:
        results = list(pool.map(calls.killed_once, [(str(tmp_path / str(number)), number) for number in range(6)]))
    assert results == list(range(6))
    assert len(list(tmp_path.iterdir())) == 6, "each was killed once"


def test_work_that_kills_each_worker_is_given_up(tmp_path: Path) -> None:
    with WorkerPool(1) as pool, pytest.raises(WorkerDiedError, match="signal 9") as raised:
        list(pool.map(calls.killed_always, [(str(tmp_path),)]))
    assert raised.value.status == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == ATTEMPTS


def test_what_workers_print_is_no_result() -> None:
    with WorkerPool(1) as pool:
        assert list(pool.map(calls.print_and_return, [("x" * 100_000,)])) == [100_000]


def test_no_process_is_left_where_the_caller_gives_up() -> None:
    pool = WorkerPool(2)
    results = pool.map(calls.process_id_after, [(0.0,), (0.0,), (60.0,), (60.0,)])
    first = next(results)
    pool.close()
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_a_process_that_is_being_started_when_the_pool_is_closed_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    worker, real = Worker(), subprocess.Popen
    closing = threading.Thread(target=worker.close)
    started: list[subprocess.Popen[bytes]] = []

    def start_while_closing(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        closing.start()
        closing.join(0.2)
        started.append(real(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start_while_closing)
    with pytest.raises(WorkerDiedError):
        worker.call(Call(calls.process_id_after, (60.0,)))
    closing.join()
    (process,) = started
    assert process.returncode == -signal.SIGKILL


def test_workers_end_with_their_parent() -> None:
    program = (
        "import sys; from replication.copies.workers.worker_pool import WorkerPool; "
        "from tests.replication.copies.audit.local import calls; import os; pool = WorkerPool(1); "
        "print(next(pool.map(calls.process_id, [()])), flush=True); os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    worker = int(ended.stdout)
    for _ in range(500):
        if not Path(f"/proc/{worker}").exists() or "\nState:\tZ" in Path(f"/proc/{worker}/status").read_text():
            return
        time.sleep(0.01)
    pytest.fail(f"process {worker} is still there")
