"""What every test shares: the campaign report, and the list of what was skipped and why."""

import os
import signal
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, settings

from logstore.text import address_secrets
from tests.campaign import REPORT, run_seed
from tests.oracle.java import spark_options
from tests.oracle.release import KafkaRelease, releases_of_this_run
from tests.turns import PROJECT, is_due, place, told, turns, write

os.environ.setdefault("EPOCHLOG_COMPILE", "now")  # what a test runs with does not depend on how fast a process is

settings.register_profile(
    "epochlog",
    deadline=None,  # machines are noisy, and no test asserts on a clock
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile(
    "mutants",
    settings.get_profile("epochlog"),
    phases=[Phase.explicit, Phase.generate],  # that a test fails says enough: no smaller example is looked for
)
settings.load_profile("epochlog")

CAMPAIGN: Final = "campaign"
"""The property of a test's report that tells what its campaign did."""


def require(*, available: bool, what: str) -> None:
    """Skip the test where something is missing; fail instead when REQUIRE_ALL=1."""
    if available:
        return
    if os.environ.get("REQUIRE_ALL") == "1":
        pytest.fail(f"{what} is missing, and REQUIRE_ALL=1 allows no skips")
    pytest.skip(f"{what} is missing")


def require_java_for_spark() -> None:
    """Skip the test where there is no Java that Spark runs on."""
    from replication.base.errors import JavaMissingError
    from replication.copies.audit.spark.sessions.java import find_java

    try:
        find_java()
    except JavaMissingError as error:
        require(available=False, what=str(error))


@pytest.fixture
def memory_dir() -> Iterator[Path]:
    """A directory in memory where there is one: thousands of synced writes take their time on a disk."""
    memory = "/dev/shm"  # noqa: S108 - only the place; the name below it is fresh
    with TemporaryDirectory(prefix="epochlog-", dir=memory if os.access(memory, os.W_OK) else None) as directory:
        yield Path(directory)


@pytest.fixture(scope="session", params=releases_of_this_run(), ids=attrgetter("version"))
def release(request: pytest.FixtureRequest) -> KafkaRelease:
    """The Kafka beside which a test runs: each of them where all campaigns are full."""
    named: KafkaRelease = request.param
    return named


@pytest.fixture(autouse=True)
def _secrets_of_one_test() -> Iterator[None]:
    """Forget the secrets that a test's addresses had: `word` would be hidden from what all tests after it read."""
    before = list(address_secrets._hidden)
    yield
    address_secrets._hidden[:] = before


@pytest.fixture
def alarmed() -> Iterator[None]:
    """Let `signal.alarm(seconds)` end a call of the test that hangs, and say where it does."""

    def hang(_: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"a call hangs at {frame}")

    before = signal.signal(signal.SIGALRM, hang)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let Hypothesis draw from the run's seed too, so that a failure anywhere can be repeated from it."""
    # Workers and programs under test inherit it, and keep it past midnight.
    os.environ["CAMPAIGN_SEED"] = str(run_seed())
    os.environ.setdefault("SPARK_SUBMIT_OPTS", spark_options())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts background jobs so. Programs under test would inherit it, and never be interrupted.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(run_seed())


def pytest_report_header() -> list[str]:
    """Name the seed that repeats this run, and the Kafka that it runs beside."""
    return [
        f"campaigns: CAMPAIGN_SEED={run_seed()} CAMPAIGN={os.environ.get('CAMPAIGN', 'share')}",
        f"beside: {' and '.join(map(str, releases_of_this_run()))}, by the seed or KAFKA_VERSION",
        *([f"files: {told()}"] if turns() > 1 else []),
    ]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the files that have their turn in another run; those that are named on the command line run."""
    is_ours = collection_path.suffix == ".py" and collection_path.is_relative_to(PROJECT)
    return True if is_ours and not is_due(collection_path.relative_to(PROJECT).as_posix()) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Parallel workers begin with the files that take longest."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place(item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send what campaigns did along with the test's report, which comes from a parallel worker too."""
    report = yield
    report.user_properties += [(CAMPAIGN, line) for line in REPORT]
    REPORT.clear()
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how much of each campaign ran, and what was skipped and why."""
    of_all_kinds = chain.from_iterable(terminalreporter.stats.values())
    reports = [report for report in of_all_kinds if isinstance(report, pytest.TestReport)]
    properties = chain.from_iterable(report.user_properties for report in reports)
    if campaigns := [line for name, line in properties if name == CAMPAIGN]:
        terminalreporter.section("campaigns")
        for line in campaigns:
            terminalreporter.line(str(line))
    if turns() > 1:
        terminalreporter.line(f"files: {told()}")
    if path := os.environ.get("TEST_SECONDS"):
        write(_seconds(reports), Path(path))
    reasons = Counter(
        report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        for report in terminalreporter.stats.get("skipped", [])
    )
    if reasons:
        terminalreporter.section("skipped, and why")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count} x {reason}")


def _seconds(reports: Iterable[pytest.TestReport]) -> dict[str, float]:
    """Return how long the tests of each file took, with what they set up and took down."""
    seconds: dict[str, float] = defaultdict(float)
    for report in reports:
        seconds[report.nodeid.partition("::")[0]] += report.duration
    return seconds
