"""What a log can be asked to do at a moment."""

from enum import Enum, auto


class LogState(Enum):
    """Set as the first step of each call that changes a log, and set back as its last.

    So whoever comes next knows that a call was broken off in between, whatever was raised there.
    """

    OPEN = auto()
    """Everything."""
    ADDING = auto()
    """A call adds to the log. Broken off, what it has added is taken back."""
    CHANGING = auto()
    """A call changes what it could not take back. Broken off, the log is poisoned."""
    REMOVING = auto()
    """So does this one, and readers must look again once it is done. Broken off, nothing can be read either."""
    POISONED = auto()
    """Reading: what is on disk is unknown."""
    CLOSED = auto()
    """Nothing but reading where it began and ended."""
    INHERITED = auto()
    """Nothing but that: the log is another process's, from which this one was forked."""
