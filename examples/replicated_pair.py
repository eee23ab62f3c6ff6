"""A log on two nodes, by `epoch` and `logstore` alone: one leads, the other follows, and either may be killed.

    python replicated_pair.py lead DIRECTORY PORT EPOCH
    python replicated_pair.py follow DIRECTORY PORT

The leader acknowledges a record once both nodes have it on stable storage. So whoever of the two comes back has every
acknowledged record, and may lead the next epoch. Who leads is for you to say: give each leader an epoch above all that
were before, and never the same one to both. A node that led before follows then, and first removes what the other never
got. Records are sent by another program, or by hand:

    >>> from replicated_pair import append, client
    >>> append(client(("127.0.0.1", PORT)), b"a record")
"""

import argparse
import json
import socket
import socketserver
import struct
import threading
from contextlib import suppress
from pathlib import Path

from epoch import EndOffset, diverging_epoch, truncation_for
from logstore import Isolation, Log

FETCH_BYTES = 1 << 20
WAIT_SECONDS = 0.5
HEADER = struct.Struct(">II")


def send(connection: socket.socket, message: dict, payload: bytes = b"") -> None:
    """Send a message: its length, that of what comes with it, and both."""
    text = json.dumps(message).encode()
    connection.sendall(HEADER.pack(len(text), len(payload)) + text + payload)


def receive(connection: socket.socket) -> tuple[dict, bytes]:
    """Receive a message. Raises ConnectionError where the other side is gone."""
    text, payload = HEADER.unpack(_exactly(connection, HEADER.size))
    return json.loads(_exactly(connection, text)), _exactly(connection, payload)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        received = connection.recv(size - len(data))
        if not received:
            raise ConnectionError("the other side is gone")
        data += received
    return bytes(data)


class Leader(socketserver.ThreadingTCPServer):
    """Appends what clients send, and gives it to the follower, whose next fetch says what it has."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, log: Log, address: tuple[str, int], epoch: int) -> None:
        """Lead in an epoch above all that the log has seen. Raises ValueError for another."""
        super().__init__(address, _Answers)
        self.log = log
        self.leadership = log.lead(epoch)
        self.acknowledged = threading.Condition()

    def append(self, value: bytes) -> int | None:
        """Return the record's offset once both nodes have it; None where that takes too long, or is not to be any more.

        Without an answer the record may be in the log all the same: a client sends it again, and readers see it twice,
        unless it has a number of its own by which they tell.
        """
        offset = self.leadership.append([value]).last_offset
        with self.acknowledged:
            done = self.acknowledged.wait_for(lambda: self.log.high_watermark > offset, WAIT_SECONDS)
        return offset if done else None

    def fetch(self, offset: int, last_epoch: int, epoch: int) -> tuple[dict, bytes]:
        """Answer a follower that has all before `offset`, of which the last was written in `last_epoch`."""
        log = self.log
        if epoch > self.leadership.epoch:  # it has followed another: this node must not lead any more
            threading.Thread(target=self.shutdown).start()
            return {"error": f"epoch {epoch} leads"}, b""
        if offset:
            diverges = diverging_epoch(log.epochs, log.log_end_offset, offset, last_epoch)
            if diverges is not None:
                return {"diverges": diverges, "epoch": self.leadership.epoch}, b""
        log.flush()  # what the follower has counts once this node has it on stable storage, too
        with self.acknowledged:
            self.leadership.advance_high_watermark(offset)
            self.acknowledged.notify_all()
        log.wait(offset, WAIT_SECONDS)
        data = bytes(log.read(offset, FETCH_BYTES).data)
        return {"epoch": self.leadership.epoch, "high_watermark": log.high_watermark}, data


class _Answers(socketserver.BaseRequestHandler):
    server: Leader

    def handle(self) -> None:
        try:
            while True:
                message, payload = receive(self.request)
                if "fetch" in message:
                    send(self.request, *self.server.fetch(message["fetch"], message["last_epoch"], message["epoch"]))
                else:
                    send(self.request, {"offset": self.server.append(payload)})
        except ConnectionError:
            return


def follow(log: Log, connection: socket.socket, truncated: list[int]) -> None:
    """Follow a leader until it is gone; note how many records each truncation removed.

    Raises ConnectionError, and ValueError where a leader is one of the past.
    """
    while True:
        latest = log.epochs.latest_epoch
        last_epoch = -1 if latest is None else latest
        send(connection, {"fetch": log.log_end_offset, "last_epoch": last_epoch, "epoch": last_epoch})
        answer, data = receive(connection)
        if "error" in answer or answer["epoch"] < last_epoch:
            raise ValueError(f"this leader's epoch is over: {answer}")
        if "diverges" in answer:
            end = log.log_end_offset
            decision = truncation_for(EndOffset(*answer["diverges"]), log.epochs, end, log.high_watermark)
            log.truncate_to(decision.offset)
            truncated.append(end - log.log_end_offset)
        elif data:
            log.append_batches(data)
            log.flush()  # before the next fetch says that this node has it
        if "high_watermark" in answer:
            log.update_high_watermark(min(answer["high_watermark"], log.log_end_offset))


def client(address: tuple[str, int]) -> socket.socket:
    """Connect to the leader, to append by `append`."""
    return socket.create_connection(address)


def append(connection: socket.socket, value: bytes) -> int | None:
    """Append a record; return its offset once it is acknowledged, None where it is not. Raises ConnectionError."""
    send(connection, {}, value)
    return receive(connection)[0]["offset"]


def committed(log: Log) -> list[bytes]:
    """Return the values that both nodes have."""
    return [record.value for record in log.records(isolation=Isolation.HIGH_WATERMARK)]


def main(role: str, directory: Path, port: int, epoch: int = 0) -> None:
    """Run a node until it is killed, or its leader or leadership is gone. Raises ConnectionError where no leader is."""
    address = ("127.0.0.1", port)
    with Log.open(directory, replicated=True) as log:
        log.flush()  # a kill leaves what the system has not written yet
        if role == "lead":
            with Leader(log, address, epoch) as leader:
                print("leads", flush=True)
                leader.serve_forever(0.05)
            print("leads no more: a later epoch has a leader", flush=True)
            return
        truncated: list[int] = []
        with client(address) as connection, suppress(ConnectionError):
            print("follows", flush=True)
            follow(log, connection, truncated)
        print("truncated", sum(truncated), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="One of two nodes with the same log.")
    roles = parser.add_subparsers(dest="role", required=True)
    for name in ("lead", "follow"):
        role = roles.add_parser(name)
        role.add_argument("directory", type=Path)
        role.add_argument("port", type=int)
        if name == "lead":
            role.add_argument("epoch", type=int, help="above all that were before")
    main(**vars(parser.parse_args()))
