"""Judges a history in a file: `python -m replication.testing.history OPERATIONS.jsonl`.

The exit status is 1 where something is wrong that a sound Kafka never does, and 2 where the file cannot be judged.
"""

import argparse
import json
import sys
from pathlib import Path

from replication.testing.errors import HistoryError
from replication.testing.history.anomaly import NOT_PROMISED
from replication.testing.history.history import History
from replication.testing.history.report import Report, check


def main() -> int:
    """Print how many anomalies of each kind there are, and a smallest counterexample of each kind."""
    parser = argparse.ArgumentParser(prog="python -m replication.testing.history", description=__doc__)
    parser.add_argument("file", type=Path, help="operations of clients, one on each line, as JSON")
    options = parser.parse_args()
    try:
        with options.file.open("rb") as lines:
            history = History.read(lines)
        report = check(history)
    except (HistoryError, OSError) as error:
        sys.stderr.write(f"{options.file}: {error}\n")
        return 2
    lines = [f"{len(history):,} operations, {len(history.sent):,} records sent, {len(history.polled):,} read"]
    sys.stdout.writelines(f"{line}\n" for line in (*lines, *_told(report)))
    return int(bool(report.broken))


def _told(report: Report) -> list[str]:
    lines = [] if report.counts else ["no anomaly"]
    for kind, count in report.counts.items():
        anomaly = next(report.anomalies(kind))
        lines += [f"{count:,} {kind}{' (not promised)' if kind in NOT_PROMISED else ''}, the first: {anomaly}"]
        lines += [f"  {json.dumps(each.to_json())}" for each in report.counterexample(anomaly)]
    return lines


if __name__ == "__main__":
    sys.exit(main())
