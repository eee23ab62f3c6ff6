"""How the checks read small files: a damaged file is a finding, a file that is gone is not."""

from collections.abc import Callable, Generator
from typing import TypeVar

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.verify.finding import Finding, Reporter

Content = TypeVar("Content")


def read_file(
    read: Callable[[], Content], name: str, kind: str, report: Reporter, *, advice: str = ""
) -> Generator[Finding, None, Content | None]:
    """Call `read` for the content of the file `name`; None if it cannot be read.

    Damage is reported as `kind`, what the system refuses as unreadable. A file that is gone since its directory was
    listed is not reported: a broker removed it, or is about to put another in its place.
    """
    try:
        return read()
    except FileNotFoundError:
        return None
    except (LogStoreError, EpochError) as error:
        position = error.position if isinstance(error, LogStoreError) else None
        yield report.error(kind, f"{error}; {advice}" if advice else str(error), file=name, position=position)
    except OSError as error:
        yield report.unreadable(error, "it was not checked", file=name)
    return None


def collected(reading: Generator[Finding, None, Content]) -> tuple[list[Finding], Content]:
    """Run a reading to its end; return what was found on the way, and what it read."""
    findings: list[Finding] = []
    while True:
        try:
            findings.append(next(reading))
        except StopIteration as end:
            return findings, end.value
