"""The base class of the errors of `logstore`. It is here for what is raised below that package, such as limits."""

from os import PathLike, fspath
from typing import Self

from epoch.base.renamed import warn_renamed


class LogStoreError(Exception):
    """Base class of the errors of `logstore`, and of those of reaching a limit of the process or system."""

    def __init__(
        self,
        what: str,
        *,
        file: str | PathLike[str] | None = None,
        position: int | None = None,
        offset: int | None = None,
        advice: str = "",
    ) -> None:
        """Create an error of `what` happened at this place, with `advice` on what to do next."""
        places = [
            f"position {position:,}" if position is not None else "",
            f"offset {offset:,}" if offset is not None else "",
        ]
        where = ", ".join(place for place in places if place)
        message = f"{f'{fspath(file)}: ' if file is not None else ''}{what}{f' at {where}' if where else ''}"
        super().__init__(f"{message}; {advice}" if advice else message)
        self.what = what
        self.advice = advice
        self.file: str | None = fspath(file) if file is not None else None
        self.position = position
        self.offset = offset

    def with_position(self, *, file: str | PathLike[str] | None, position: int | None, offset: int | None) -> Self:
        """Return the same error with the place that only the caller of its raiser knows."""
        return type(self)(self.what, file=file, position=position, offset=offset, advice=self.advice)

    def placed(self, *, file: str | PathLike[str] | None, position: int | None, offset: int) -> Self:
        """Do what `with_position` does (deprecated)."""
        warn_renamed("LogStoreError.placed", "with_position")
        return self.with_position(file=file, position=position, offset=offset)
