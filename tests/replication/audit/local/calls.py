"""What workers are asked to do in tests: functions that their processes import."""

import os
import signal
import tempfile
import time
from pathlib import Path


def process_id() -> int:
    return os.getpid()


def process_id_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def squared_after(number: int, seconds: float) -> int:
    time.sleep(seconds)
    return number**2


def raise_error(error: Exception) -> None:
    raise error


def killed_once(marker: str, number: int) -> int:
    """Kill this process, unless another one was killed for the same marker."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def killed_always(directory: str) -> None:
    tempfile.mkstemp(dir=directory)
    os.kill(os.getpid(), signal.SIGKILL)


def print_and_return(text: str) -> int:
    print(text)  # noqa: T201  that is what is tested
    return len(text)
