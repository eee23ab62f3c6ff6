"""Something happens in the middle of a call: between any two of its bytecodes, or beside any step that the disk takes.

That is wherever an interpreter may raise, and more: signal handlers run on entry of functions, after calls (of
functions in C too, before their result is looked at) and as loops turn; memory ends where something is made. What it
never does is not done here either: to raise where a bytecode only moves what is there, or while a `with` block is left,
before its lock is free.
"""

import dis
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, Self

import epoch
import logstore
from epoch.filesystem import FileSystem

PACKAGES: Final = tuple(f"{Path(package.__file__).parent}{os.sep}" for package in (epoch, logstore) if package.__file__)
COMPUTING: Final = frozenset(
    {
        "append_validation.py",
        "batch.py",
        "batch_attributes.py",
        "batch_scan.py",
        "batch_template.py",
        "batches.py",
        "checkpoint.py",
        "checkpoint_columns.py",
        "codec.py",
        "columns.py",
        "control.py",
        "encoding.py",
        "entry.py",
        "epoch_runs.py",
        "errors.py",
        "file_name.py",
        "history.py",
        "log_config.py",
        "many_batches.py",
        "object_decoder.py",
        "plain_records.py",
        "view_records.py",
        "legacy_batch.py",
        "offset_checkpoint.py",
        "append_fast_path.py",
        "producer.py",
        "producer_append.py",
        "record.py",
        "record_decoder.py",
        "record_encoder.py",
        "record_fault.py",
        "record_inspection.py",
        "sent_records.py",
        "time_limit.py",
        "topic_partition.py",
    }
)
"""What only computes: whatever is raised there, its caller sees the same of it."""


MOVES: Final = frozenset(
    {
        "NOP",
        "PUSH_EXC_INFO",
        "POP_EXCEPT",
        "WITH_EXCEPT_START",
        "RERAISE",
        "PRECALL",
        "PUSH_NULL",
        "LOAD_CONST",
        "LOAD_FAST",
        "STORE_FAST",
        "STORE_GLOBAL",
        "COPY",
        "SWAP",
        "POP_TOP",
        "JUMP_FORWARD",
        "RETURN_VALUE",
        "RETURN_CONST",
    }
)
"""Bytecodes that cannot raise; the names that are stored are there. What is left of their state is the next one's."""


class Interruption(BaseException):
    """What nobody expects, and nobody catches by name."""


def resource_error(number: int) -> OSError:
    """What a system call answers that has run out of something."""
    return OSError(number, os.strerror(number))


RAISED: Final[dict[str, Callable[[], BaseException]]] = {
    "KeyboardInterrupt": KeyboardInterrupt,
    "MemoryError": MemoryError,
    "a BaseException": Interruption,
    "EMFILE": lambda: resource_error(errno.EMFILE),
    "ENOMEM": lambda: resource_error(errno.ENOMEM),
}


class Interrupter:
    """Counts the points that a call passes, and does something at one of them."""

    def __init__(self, counts: Callable[[str], bool] | None = None) -> None:
        """`counts` tells of which files the bytecodes count; by default of those of logs and epochs."""
        self.passed = 0
        self.place = ""
        """Where it was done; empty until then."""
        self._counts = counts or is_of_interest
        self._at = -1
        self._do: Callable[[], object] = lambda: None

    @contextmanager
    def between_bytecodes(self, at: int, do: Callable[[], object]) -> Iterator[None]:
        """Do it before the bytecode of this number, of those in the packages."""
        self._begin(at, do)
        before = sys.gettrace(), sys.getprofile()
        sys.settrace(self._trace)
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.settrace(before[0])
            sys.setprofile(before[1])
            self._at, self._do = -1, lambda: None

    @contextmanager
    def beside_steps(self, at: int, do: Callable[[], object]) -> Iterator[None]:
        """Do it before or after a step of an `InterruptedDisk`, which count as two."""
        self._begin(at, do)
        try:
            yield
        finally:
            self._at = -1

    def pass_step(self, name: str) -> None:
        """Pass a step of the disk."""
        self._pass(lambda: name)

    def _begin(self, at: int, do: Callable[[], object]) -> None:
        self.passed, self.place, self._at, self._do = 0, "", at, do

    def _pass(self, place: Callable[[], str]) -> None:
        if self.passed == self._at:
            self.place = place()
            self.passed += 1
            self._do()
        else:
            self.passed += 1

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        del argument
        code = frame.f_code
        if event == "call":
            if not self._counts(code.co_filename):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode" and self._at >= 0 and frame.f_lasti not in unreachable(code):
            self._pass(lambda: f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_qualname}+{frame.f_lasti}")
        return self._trace

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        """Pass what is a point of its own: a function in C has returned, and nobody has looked at its result."""
        code = frame.f_code
        if event == "c_return" and self._at >= 0 and self._counts(code.co_filename):
            self._pass(lambda: f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_qualname} after {argument}")


@cache
def is_of_interest(filename: str) -> bool:
    """Whether a file's bytecodes count."""
    return filename.startswith(PACKAGES) and Path(filename).name not in COMPUTING and "kernel" not in filename


@cache
def unreachable(code: CodeType) -> frozenset[int]:
    """Where nothing is ever raised: bytecodes that only move what is there, and those that leave a `with` block."""
    instructions = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
    found = {each.offset for each in instructions if each.opname in MOVES}
    for number in range(len(instructions)):
        leaving = instructions[number : number + 5]
        if [each.opname for each in leaving if each.argval is None][:3] == ["LOAD_CONST"] * 3:
            found |= {each.offset for each in leaving if each.opname in {"LOAD_CONST", "PRECALL", "CALL"}}
    return frozenset(found)


class InterruptedDisk(FileSystem):
    """The real disk, whose every step is two points of an `Interrupter`: before it and after it."""

    def __init__(self, interrupter: Interrupter) -> None:
        self._pass = interrupter.pass_step

    def open(self, path: Path, *, truncate: bool = False) -> int:
        self._pass(f"before open {path.name}")
        descriptor = super().open(path, truncate=truncate)
        try:
            self._pass(f"after open {path.name}")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        self._pass("before write")
        super().write(descriptor, memoryview(data)[: len(data) // 2])
        self._pass("in write")
        super().write(descriptor, memoryview(data)[len(data) // 2 :])
        self._pass("after write")

    def read_at(self, descriptor: int, position: int, size: int) -> bytes:
        self._pass("before read")
        data = super().read_at(descriptor, position, size)
        self._pass("after read")
        return data

    def fsync(self, descriptor: int) -> None:
        self._pass("before fsync")
        super().fsync(descriptor)
        self._pass("after fsync")

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self._pass("after close")

    def rename(self, source: Path, target: Path) -> None:
        self._pass(f"before rename {source.name}")
        super().rename(source, target)
        self._pass(f"after rename {source.name}")

    def copy(self, source: Path, target: Path) -> None:
        self._pass(f"before copy {target.name}")
        super().copy(source, target)
        self._pass(f"after copy {target.name}")

    def link(self, source: Path, target: Path) -> None:
        self._pass(f"before link {target.name}")
        super().link(source, target)
        self._pass(f"after link {target.name}")

    def set_modified(self, path: Path, modified_ns: int) -> None:
        self._pass(f"before setting the time of {path.name}")
        super().set_modified(path, modified_ns)
        self._pass(f"after setting the time of {path.name}")

    def truncate(self, path: Path, size: int) -> None:
        self._pass(f"before truncate {path.name}")
        super().truncate(path, size)
        self._pass(f"after truncate {path.name}")

    def unlink(self, path: Path) -> None:
        self._pass(f"before unlink {path.name}")
        super().unlink(path)
        self._pass(f"after unlink {path.name}")

    def mkdir(self, path: Path) -> None:
        self._pass(f"before mkdir {path.name}")
        super().mkdir(path)
        self._pass(f"after mkdir {path.name}")

    def rmdir(self, path: Path) -> None:
        self._pass(f"before rmdir {path.name}")
        super().rmdir(path)
        self._pass(f"after rmdir {path.name}")

    def fsync_directory(self, path: Path) -> None:
        self._pass("before fsync directory")
        super().fsync_directory(path)
        self._pass("after fsync directory")


class Bystander:
    """Another thread, which does what it is asked for while the first one stands in the middle of a call."""

    def __init__(self) -> None:
        self._asked, self._answered = threading.Semaphore(0), threading.Semaphore(0)
        self._do: Callable[[], object] | None = None
        self._result: object = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._do = None
        self._asked.release()
        self._thread.join()

    def ask(self, do: Callable[[], object], seconds: float) -> object:
        """Return what `do` returned or raised there; TimeoutError where it hangs."""
        self._do = do
        self._asked.release()
        if not self._answered.acquire(timeout=seconds):
            raise TimeoutError("another thread hangs")
        return self._result

    def _run(self) -> None:
        while True:
            self._asked.acquire()
            if self._do is None:
                return
            try:
                self._result = self._do()
            except BaseException as error:  # noqa: BLE001  handed on
                self._result = error
            self._answered.release()


def exit_status_of(
    call: Callable[[], object], *, refused: type[Exception] | tuple[type[Exception], ...], seconds: int
) -> int:
    """What a call comes to in a forked process: 7 where it is refused, 0 where it returns, -SIGALRM where it hangs."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    try:
        sys.settrace(None)
        sys.setprofile(None)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        call()
    except refused:
        os._exit(7)
    except BaseException:  # noqa: BLE001  the parent hears of it
        os._exit(1)
    os._exit(0)
