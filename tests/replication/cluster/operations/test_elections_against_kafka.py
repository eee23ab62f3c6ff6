"""Options, files and messages, compared with those of Kafka's own tool. No cluster answers: both give up soon."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pytest

from replication.cli.commands.elect import KAFKA_VERSION
from replication.cluster.operations.election_report import error_text
from replication.cluster.operations.leader_election import TIMED_OUT
from replication.wire.error_code import ErrorCode
from tests.campaign import Campaign
from tests.oracle.java_exceptions import as_ours
from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools
from tests.replication.cli.command import Outcome, epochlog

Compare: TypeAlias = Callable[..., None]

OPTIONS = Campaign("elections-options", full=2_000, share=250)
FILES = Campaign("elections-json", full=2_000, share=250)

KAFKAS_HELP = "This tool attempts to elect a new leader for a set of topic partitions."
REQUIRED = ("--bootstrap-server", "127.0.0.1:1", "--election-type", "preferred")
ONE = ("--topic", "a", "--partition", "0")
PIECES = (
    ("--bootstrap-server", "127.0.0.1:1"),
    ("--election-type", "preferred"),
    ("--election-type", "Unclean"),
    ("--election-type=UNCLEAN",),
    ("--election-type", "both"),
    ("--topic", "a"),
    ("-topic=b",),
    ("--topic",),
    ("--partition", "0"),
    ("--partition", "+7"),
    ("--partition", "-1"),
    ("--partition", "x"),
    ("--partition", "2147483648"),
    ("--all-topic-partitions",),
    ("--all-topic-partitions=no",),
    ("-all-topic-partitions",),
    ("--path-to-json-file", "partitions.json"),
    ("--path-to-json-file", "nothing.json"),
    ("--admin.config", "quick.properties"),
    ("--help",),
    ("--version",),
    ("--",),
    ("-",),
    ("--nonsense",),
    ("-nonsense=1",),
    ("--election",),
    ("stray",),
)
FILE_OPTIONS = ("--path-to-json-file", "--command-config", "--admin.config")
ONCE = ("--bootstrap-server", *FILE_OPTIONS)
"""Given twice, Kafka's tool finds that out later than ours, after it has looked at the files."""
WORTH_TRYING = (
    "",
    "  ",
    "\n",
    "null",
    "\ufeff{}",
    '{"partitions":[],}',
    '{"partitions":[]} and more',
    '{"partitions":[1],"partitions":[]}',
    '{"partitions":NaN}',
    '{"partitions":"\\q"}',
    '{"partitions":"\t"}',
    '{"partitions":1e400}',
    '{"partitions":[{"topic":1e23}]}',
    '{"partitions":[{"topic":"a","partition":-0}]}',
    "1a",
    "1 2",
    '"a"b',
    "truex",
    "-",
    "01",
    "[1,]",
)
VALUES = (
    None,
    True,
    0,
    1,
    -5,
    2**31 - 1,
    2**31,
    10**25,
    0.0,
    1.0,
    1.5e-7,
    1e5,
    1e16,
    0.0001,
    "a",
    'é"/\\',
    [],
    {"b": "\n"},
)
WITH_EXPONENT = re.compile(r"\b[0-9]\.[0-9]+E-?[0-9]+")
INSERTED = '{}[],:"\\ \n019.-+eE\ttnN/é'


@pytest.fixture(scope="module")
def tool(release: KafkaRelease) -> Iterator[KafkaTools]:
    with KafkaTools(release) as program:
        yield program


def with_our_release(printed: str, release: KafkaRelease) -> str:
    """Each tool's `--version` is its own release; ours is that of the one whose work it does."""
    return f"{KAFKA_VERSION}\n" if printed == f"{release.version}\n" else printed


@pytest.fixture
def compare(tool: KafkaTools, tmp_path: Path) -> Compare:
    """See that ours ends as Kafka's tool does, with the same output and the same line of complaint."""
    (tmp_path / "quick.properties").write_text("default.api.timeout.ms=20\nrequest.timeout.ms=10\n")
    (tmp_path / "partitions.json").write_text('{"partitions":[{"topic":"a","partition":0}]}')

    def assert_same(*given: str) -> None:
        arguments = [
            str(tmp_path / each) if before in FILE_OPTIONS else each
            for before, each in zip(("", *given), given, strict=False)
        ]
        theirs = tool.run("kafka-leader-election", *arguments)
        printed = with_our_release(theirs.out, tool.release)
        expected = as_our_tool(Outcome(theirs.status, printed, theirs.err), *given)
        ours = epochlog("elect", *arguments)
        assert (ours.status, ours.out) == (expected.status, expected.out), arguments
        assert complaint(without_reason(ours.err)) == complaint(expected.err), arguments

    return assert_same


def as_our_tool(theirs: Outcome, *given: str) -> Outcome:
    """Return how ours ends where Kafka's does so: without Java's names, and with another help, which is no failure."""
    if theirs.err.startswith(KAFKAS_HELP):
        assert (theirs.status, theirs.out) == (1, "")
        return epochlog("elect", "-h") if given else epochlog("elect")
    return Outcome(theirs.status, as_ours(theirs.out), as_ours(theirs.err.partition("\n")[0]))


def without_reason(text: str) -> str:
    """Leave out the line that ours has before Kafka's where no broker answers: why that is so."""
    reason, _, rest = text.partition("\n")
    return rest if reason.startswith("no broker answers: ") and rest.startswith(TIMED_OUT) else text


def complaint(text: str) -> object:
    """Return the first line; partitions in it have no order.

    The digits of a double are the JDK's: 1e23 is 9.999999999999999E22 before JDK 19, and 1.0E23 since (JDK-4511638).
    """
    first, _, rest = text.split("\n", 1)[0].partition("duplicate partitions: ")
    same_doubles = WITH_EXPONENT.sub(lambda double: f"{float(double[0]):.17E}", first)
    return same_doubles, sorted(rest.strip("[]").split(", "))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--help",),
        ("--version",),
        ("--version", "--help"),
        ("--he",),
        ("--=x",),
        ("-=x",),
        ("--bootstrap-server",),
        ("--command-config", "nothing.properties", *REQUIRED, *ONE),
        ("--admin.config", "nothing.properties", *REQUIRED, *ONE),
        ("--admin.config", "quick.properties", *REQUIRED, *ONE),
        ("--admin.config", "quick.properties", "--command-config", "quick.properties", *REQUIRED, *ONE),
        ("--command-config", "quick.properties", *REQUIRED, *ONE),
        ("--command-config", "hasty.properties", *REQUIRED, *ONE),
        ("--bootstrap-server", "nowhere", *REQUIRED[2:], *ONE),
        ("--bootstrap-server", "nobody.invalid:9092", *REQUIRED[2:], *ONE),
        ("--bootstrap-server", "localhost:99999", *REQUIRED[2:], *ONE),
    ],
    ids=" ".join,
)
def test_what_is_worth_trying(compare: Compare, tmp_path: Path, arguments: Sequence[str]) -> None:
    (tmp_path / "hasty.properties").write_text("default.api.timeout.ms=20\n")
    compare(*arguments)


def test_options_are_read_and_refused_as_by_kafka(compare: Compare, release: KafkaRelease) -> None:
    random = Random(OPTIONS.seed)
    for _ in range(OPTIONS.count):
        arguments: list[str] = ["--command-config", "quick.properties"]
        if random.random() < 0.6:
            arguments += [*REQUIRED, *random.choice([(), ONE])]
        for piece in random.sample(PIECES, random.randrange(4)):
            if not (piece[0] in ONCE and piece[0] in arguments):
                arguments += piece
        compare(*arguments)
    OPTIONS.report(OPTIONS.count, beside=release)


@pytest.mark.parametrize("text", WORTH_TRYING)
def test_a_file_worth_trying(compare: Compare, tmp_path: Path, text: str) -> None:
    assert_file_is_read_alike(compare, tmp_path, text)


def test_files_are_read_and_refused_as_by_kafka(compare: Compare, release: KafkaRelease, tmp_path: Path) -> None:
    random = Random(FILES.seed)
    for _ in range(FILES.count):
        text = json.dumps(document(random), ensure_ascii=random.random() < 0.5)
        if random.random() < 0.3:
            place = random.randrange(len(text) + 1)
            text = text[:place] + random.choice(INSERTED) + text[place + random.randrange(2) :]
        assert_file_is_read_alike(compare, tmp_path, text)
    FILES.report(FILES.count, beside=release)


def assert_file_is_read_alike(compare: Compare, scratch: Path, text: str) -> None:
    (scratch / "tried.json").write_text(text)
    compare("--command-config", "quick.properties", *REQUIRED, "--path-to-json-file", "tried.json")


def document(random: Random) -> Any:
    """Return what such a file may hold, most of it wrong in one place or another."""
    if random.random() < 0.05:
        return random.choice(VALUES)
    items = [item(random) for _ in range(random.randrange(4))]
    return {
        random.choice(["partitions", "partitions", "partitions", "Partitions"]): either(random, items),
        "version": 1,
    }


def item(random: Random) -> Any:
    fields = {"topic": either(random, random.choice("ab")), "partition": either(random, random.randrange(2))}
    if random.random() < 0.1:
        fields.pop(random.choice(["topic", "partition"]))
    return either(random, fields)


def either(random: Random, usual: Any) -> Any:
    return random.choice(VALUES) if random.random() < 0.08 else usual


def test_errors_say_what_they_do_in_java(tool: KafkaTools) -> None:
    for name, (plain, told) in json.loads(tool.ask("errors")[0]).items():
        code = next((each for each in ErrorCode if each.name == name.lower()), None)
        if code is None:  # newer than what we can read
            continue
        assert error_text(code, "told") == as_ours(told)
        assert error_text(code) in (as_ours(plain), as_ours(plain).partition(":")[0])
