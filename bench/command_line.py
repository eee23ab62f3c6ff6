"""What the command lines of all measuring programs share."""

import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

INTERRUPTED = 130
"""The exit status that shells give too."""


def count(text: str) -> int:
    """Read how many rounds, runs or MiB are asked for. Raises ValueError and ArgumentTypeError."""
    number = int(text)
    if number < 1:
        raise ArgumentTypeError(f"{number}: 1 at least")
    return number


def result_file(text: str) -> Path:
    """Read where to write a result, which takes minutes or hours to measure. Raises ArgumentTypeError."""
    path = Path(text)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentTypeError(str(error)) from error
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ArgumentTypeError(f"{path}: no file that can be written")
    return path


def run_program(main: Callable[[], int]) -> NoReturn:
    """Run a program to its exit status; what is interrupted tidies up and says no more."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
