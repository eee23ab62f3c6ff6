"""A process that does what its parent sends on standard input: `python -m replication.copies.workers.worker`.

A call is a pickled function and its arguments, a result the pickled outcome. Only the parent holds the pipes.
"""

import os
import sys
from typing import BinaryIO

from replication.copies.workers.worker_calls import Call, Outcome, receive, send


def done(call: Call) -> Outcome:
    """Do what is asked for; what goes wrong is reported, and the worker goes on."""
    try:
        return Outcome(value=call.function(*call.arguments))
    except Exception as error:  # noqa: BLE001  whatever it is, the parent raises it
        return Outcome(error=error)


def work(calls: BinaryIO, results: BinaryIO) -> None:
    """Do one call after the other until the parent ends, or closes the pipe."""
    while True:
        try:
            call = receive(calls)
        except EOFError:
            return
        send(results, done(call))


def main() -> None:
    """Work on standard input and output; what is printed meanwhile goes to standard error."""
    with os.fdopen(os.dup(1), "wb") as results:
        os.dup2(2, 1)
        work(sys.stdin.buffer, results)


if __name__ == "__main__":
    main()
