"""How the checks read small files: a damaged file is a finding, a file that is gone is not."""

from collections.abc import Callable
from typing import TypeVar

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.verify.finding import Finding, Reporter

Content = TypeVar("Content")


def read_file(
    read: Callable[[], Content], name: str, kind: str, report: Reporter, *, advice: str = ""
) -> tuple[list[Finding], Content | None]:
    """Call `read` for the content of the file `name`; None if it cannot be read, and what was found then.

    Damage is reported as `kind`, what the system refuses as unreadable. A file that is gone since its directory was
    listed is not reported: a broker removed it, or is about to put another in its place.
    """
    try:
        return [], read()
    except FileNotFoundError:
        return [], None
    except (LogStoreError, EpochError) as error:
        position = error.position if isinstance(error, LogStoreError) else None
        message = f"{error}; {advice}" if advice else str(error)
        return [report.error(kind, message, file=name, position=position)], None
    except OSError as error:
        return [report.unreadable(error, "it was not checked", file=name)], None
