"""`epochlog serve` in a process of its own."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.replication.cli.schemas import validate_output

SECONDS = 60


@contextmanager
def served(*arguments: object, prefix: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """Serve on free ports, and give what it prints with --json; in the end it is told to end, and has to."""
    words = ["serve", "--read-only", "--listen", "127.0.0.1:0", "--json", *map(str, arguments)]
    command = [*prefix, sys.executable, "-m", "replication.cli", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            printed = process.stdout.readline()
            assert printed, process.stderr.read()
            validate_output("serve", printed)
            yield json.loads(printed)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                status = process.wait(SECONDS)
            finally:
                process.kill()
        assert status == 0, process.stderr.read()


def everything(root: Path) -> dict[Path, tuple[int, int, int, bytes]]:
    """What a directory holds: each file's times, size and content."""
    return {
        each: (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, each.read_bytes() if each.is_file() else b"")
        for each in [root, *sorted(root.rglob("*"))]
        for stat in [each.stat()]
    }
