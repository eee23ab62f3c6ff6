"""Bytes in parts, so that records go from a log to a socket without being copied on the way."""

from itertools import pairwise
from typing import Final, TypeAlias

Part: TypeAlias = bytes | memoryview

LEAST_VIEW: Final = 4_096
"""Bytes. To copy fewer takes less time than one more part: many small ones would be more than one call can send."""


class Gathered(bytearray):
    """What is written, with larger views of records left where they are.

    As a bytearray it has all but these. Whoever takes its parts must let go of them for the views to be released.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self._views: list[tuple[int, memoryview]] = []

    def add_view(self, view: memoryview) -> None:
        """Put the bytes of a view here, of which `len` is the size."""
        if len(view) < LEAST_VIEW:
            self += view
        else:
            self._views.append((len(self), view))

    def parts(self) -> list[Part]:
        """Return what makes up all bytes, in order; nothing may be written after that."""
        written = memoryview(self).toreadonly()
        if not self._views:
            return [written]
        parts: list[Part] = [written[: self._views[0][0]]]
        ends = [position for position, _ in self._views] + [len(self)]
        for (_, view), (start, end) in zip(self._views, pairwise(ends), strict=True):
            parts.append(view)
            if end > start:
                parts.append(written[start:end])
        return parts
