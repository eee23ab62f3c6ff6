"""Payments that several processes book, each exactly once, whichever of the processes is killed.

    python work_queue.py pay DIRECTORY ACCOUNT AMOUNT [AMOUNT ...]
    python work_queue.py book DIRECTORY

Payments wait in a `WorkQueue`, and are booked in a table of sqlite by any number of `book` processes. There is no other
process: the first that opens the queue owns it, and another one does once that is gone. An item comes again where a
process dies between booking and `ack`. So the booking and the item's id are in one transaction, and an id that is there
already is not booked again: that makes at least once to exactly once.
"""

import argparse
import json
import sqlite3
from pathlib import Path

from logstore.queue import QueueItem, WorkQueue

LEASE_SECONDS = 2.0
BATCH = 10
TABLES = """
CREATE TABLE IF NOT EXISTS balances (account TEXT PRIMARY KEY, amount INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS booked (item INTEGER PRIMARY KEY);
"""


class Ledger:
    """The balances of all accounts, and which items they contain."""

    def __init__(self, path: Path) -> None:
        """Open the tables, and make them if they are missing."""
        self._tables = sqlite3.connect(path, timeout=60, isolation_level=None)
        self._tables.execute("PRAGMA journal_mode=WAL")
        self._tables.execute("PRAGMA synchronous=FULL")  # before an ack, the effect is on stable storage
        self._tables.executescript(TABLES)

    def book(self, items: list[QueueItem]) -> None:
        """Book those of the items that are not booked yet, in one transaction."""
        self._tables.execute("BEGIN IMMEDIATE")
        for item in items:
            if self._tables.execute("INSERT OR IGNORE INTO booked VALUES (?)", (item.id,)).rowcount:
                payment = json.loads(item.value)
                self._tables.execute(
                    "INSERT INTO balances VALUES (?, ?) ON CONFLICT DO UPDATE SET amount = amount + excluded.amount",
                    (payment["account"], payment["amount"]),
                )
        self._tables.execute("COMMIT")

    def booked(self) -> set[int]:
        """Return the ids of all items that are booked."""
        return {item for (item,) in self._tables.execute("SELECT item FROM booked")}

    def balances(self) -> dict[str, int]:
        """Return all balances."""
        return dict(self._tables.execute("SELECT account, amount FROM balances"))

    def close(self) -> None:
        """Close the tables."""
        self._tables.close()


def pay(queue: WorkQueue, account: str, amounts: list[int]) -> list[int]:
    """Put payments; return their ids once they are on stable storage."""
    return queue.put([json.dumps({"account": account, "amount": amount}).encode() for amount in amounts])


def book(queue: WorkQueue, ledger: Ledger, wait: float | None = None) -> int:
    """Book what comes, until nothing has come for so many seconds; return how many items."""
    count = 0
    while items := queue.take(max_items=BATCH, wait=wait):
        ledger.book(items)
        queue.ack(items)  # one whose lease had run out is booked once all the same
        count += len(items)
    return count


def main(command: str, directory: Path, account: str = "", amounts: tuple[int, ...] = ()) -> None:
    """Do as the command line says: `book` runs until it is killed."""
    with WorkQueue.open(directory / "payments", lease=LEASE_SECONDS) as queue:
        if command == "pay":
            print(*pay(queue, account, list(amounts)))
        else:
            print("books", flush=True)
            book(queue, Ledger(directory / "ledger.db"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Payments that are booked exactly once.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("pay", "book"):
        command = commands.add_parser(name)
        command.add_argument("directory", type=Path, help="one that exists")
        if name == "pay":
            command.add_argument("account")
            command.add_argument("amounts", type=int, nargs="+")
    main(**vars(parser.parse_args()))
