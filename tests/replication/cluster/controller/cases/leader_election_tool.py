"""What kafka-leader-election 4.3.1 printed on real clusters.

Ours runs as a whole, with a broker on loopback that answers as the cluster of the case did: the answers are taken from
what was printed. On a real cluster each of them is brought about by test_elections_on_a_real_cluster.py.
"""

import re
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

from logstore import TopicPartition
from replication.cli.commands import elect
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionResult, ElectionType
from tests.oracle.java_exceptions import as_ours
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cluster.controller.case import Case, Cases, Document, only
from tests.replication.cluster.operations.electing_broker import ElectingBroker

CONFIGURATIONS = ("--command-config", "--admin.config")
QUICK = {"default.api.timeout.ms": "1000", "request.timeout.ms": "500"}
TIMED_OUT = "Timeout waiting for election results"
KAFKAS_HELP = "This tool attempts to elect a new leader for a set of topic partitions."
NOT_AUTHORIZED = "Not authorized to perform leader election"
PARTITIONS = re.compile(r"(Successfully completed|Valid replica already elected).* for partitions (.+)")
NAME = re.compile(r"(.+?)-(-?\d+)")
FAILED = re.compile(r"Error completing .* for partition: (\S+): ([A-Z_]+): (.*)")


def cases(document: Document) -> Cases:
    only(document, "source", "notes", "cases")
    for case in document["cases"]:
        yield Case(case["id"], partial(check, case))


def check(case: Document) -> None:
    only(
        case,
        "id",
        "args",
        "precondition",
        "exit_code",
        "stdout",
        "stderr",
        "stderr_first_line",
        "stderr_second_line",
        "json_file_content",
    )
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch), as_it_was(case) as bootstrap:
        arguments = prepared(case, bootstrap)
        with patch.object(elect, "CLIENT_DEFAULTS", QUICK):
            done = epochlog("elect", *arguments)
    if case.get("stderr", case.get("stderr_first_line")).startswith(KAFKAS_HELP):
        assert_help(case, done)
        return
    assert done.status == case["exit_code"]
    assert unordered(done.out) == unordered(as_ours(case["stdout"]))
    if "stderr" in case:
        assert done.err == as_ours(case["stderr"])
    else:
        # Where nobody answers, ours says first why: at which address, and what came instead.
        told = [*done.err.splitlines(), ""]
        is_reason_first = TIMED_OUT in case["stdout"].splitlines()
        assert told[1 if is_reason_first else 0] == as_ours(case["stderr_first_line"])


def assert_help(case: Document, done: Outcome) -> None:
    """See that ours shows its own help, which is a failure only where nothing was asked."""
    shown = epochlog("elect", "-h").out
    assert (case["exit_code"], case["stdout"]) == (1, "")
    assert done == (Outcome(0, shown, "") if case["args"] else Outcome(1, "", shown))


def prepared(case: Document, bootstrap: str) -> list[str]:
    """Return the arguments for this cluster, with the files that they name."""
    arguments = list(case["args"])
    for number, (option, value) in enumerate(zip(case["args"], case["args"][1:], strict=False), start=1):
        if option == "--bootstrap-server":
            arguments[number] = bootstrap
        elif option == "--path-to-json-file" and "json_file_content" in case:
            Path(value).write_text(case["json_file_content"])
        elif option in CONFIGURATIONS and case.get("stderr_first_line") != value:
            Path(value).write_text("".join(f"{name}={setting}\n" for name, setting in QUICK.items()))
    return arguments


@contextmanager
def as_it_was(case: Document) -> Iterator[str]:
    """Give the address of a broker that answers as was printed, or of nobody where it timed out."""
    printed = case["stdout"].splitlines()
    if TIMED_OUT in printed:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            yield f"127.0.0.1:{taken.getsockname()[1]}"
        return
    error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED if NOT_AUTHORIZED in printed else ErrorCode.NONE
    with ElectingBroker(results(printed), error) as broker:
        yield str(broker.address)
    for asked in broker.asked:
        is_unclean = "unclean" in map(str.lower, case["args"])
        assert asked.election_type == (ElectionType.UNCLEAN if is_unclean else ElectionType.PREFERRED)
        assert (asked.partitions is None) == ("--all-topic-partitions" in case["args"])
        if asked.partitions is not None:
            assert set(broker.results) == set(asked.partitions)
    assert broker.asked or case["exit_code"] or "--version" in case["args"]


def results(printed: list[str]) -> Mapping[TopicPartition, ElectionResult]:
    """Return what a broker answered for this to be printed."""
    found = {}
    for line in map(as_ours, printed):
        if match := PARTITIONS.fullmatch(line):
            error = ErrorCode.NONE if match[1].startswith("Success") else ErrorCode.ELECTION_NOT_NEEDED
            found |= {parsed(name): ElectionResult(error) for name in match[2].split(", ")}
        elif match := FAILED.fullmatch(line):
            error = ErrorCode[match[2]]
            found[parsed(match[1])] = ElectionResult(error, match[3])
    return found


def parsed(name: str) -> TopicPartition:
    match = NAME.fullmatch(name)
    assert match, name
    return TopicPartition(match[1], int(match[2]))


def unordered(printed: str) -> list[str]:
    """Return what was printed in an order of its own: that of partitions does not matter."""
    return sorted(re.sub(r"for partitions (.+)", _sorted, line) for line in printed.split("\n"))


def _sorted(match: re.Match[str]) -> str:
    return ", ".join(sorted(match[1].split(", ")))
