"""Close many things, whatever becomes of each."""

from collections.abc import Callable, Iterable

from logstore.errors import LogStoreError, NotClosedError


def do_all(steps: Iterable[Callable[[], object]], what: str) -> None:
    """Do each step, whether or not those before it fail; then raise what failed.

    That is the one error there was, or a NotClosedError that names `what` and has all of them.
    """
    failures: list[OSError | LogStoreError] = []
    for step in steps:
        try:
            step()
        except (OSError, LogStoreError) as error:
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise NotClosedError.of(what, failures)


def close_after(error: BaseException | None, close: Callable[[], object]) -> None:
    """Close at the end of a `with` block; what goes wrong with that is a note to `error`, which is what to see to."""
    try:
        close()
    except (LogStoreError, OSError) as also:
        if error is None:
            raise
        error.add_note(str(also))
