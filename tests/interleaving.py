"""Something else happens just before a line of a method: line by line, every order that two threads can take."""

import sys
from collections.abc import Callable
from threading import Thread
from types import CodeType, FrameType
from typing import Any, Self


class BeforeLine:
    """Within this, another thread makes the call `other` before the nth line of a method that this thread runs.

    `is_reached` says whether the method came to that line.
    """

    def __init__(self, method: CodeType, number: int, other: Callable[[], object]) -> None:
        self._method, self._left, self._other = method, number, other
        self.is_reached = False

    def __enter__(self) -> Self:
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._at_line if event == "call" and frame.f_code is self._method else None

    def _at_line(self, _: FrameType, event: str, __: Any) -> Any:
        if event == "line" and not self.is_reached:
            self.is_reached = not self._left
            self._left -= 1
            if self.is_reached:
                thread = Thread(target=self._other)
                thread.start()
                thread.join()
        return self._at_line
