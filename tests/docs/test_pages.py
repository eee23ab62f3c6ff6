"""The pages are complete: every name, command, finding and campaign, and no link to nowhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs import make_api_reference, make_cli_reference
from tests.data.replicas import PROJECT
from tests.docs.examples import PAGES, Block, blocks_of

README = PROJECT / "README.md"
DOCS = PROJECT / "docs"
INDEX = DOCS / "README.md"
ALL_PAGES = (*PAGES, PROJECT / "CHANGELOG.md")
KIND = re.compile(r"[a-z]+(-[a-z]+)+")
SPARK_DATA_SOURCES = {"kafka-log", "epochlog-examination"}


def name_of(page: Path) -> str:
    return str(page.relative_to(PROJECT))


def kinds_in_the_code() -> set[str]:
    """Every kind of finding: the only strings of words and dashes in the checks, but for the names of data sources."""
    sources = [*(PROJECT / "logstore/verify").glob("*.py"), *(PROJECT / "replication/copies/audit").rglob("*.py")]
    sources.append(PROJECT / "replication/copies/planning/doubled_partition.py")
    nodes = (node for source in sources for node in ast.walk(ast.parse(source.read_text())))
    constants = (node.value for node in nodes if isinstance(node, ast.Constant))
    return {text for text in constants if isinstance(text, str) and KIND.fullmatch(text)} - SPARK_DATA_SOURCES


def test_every_kind_of_finding_is_explained_and_no_other() -> None:
    explained = re.findall(
        r"^\| `([a-z-]+)` \| (?:critical|error|warning|info)", (DOCS / "findings.md").read_text(), re.MULTILINE
    )
    assert len(explained) == len(set(explained))
    assert set(explained) == kinds_in_the_code()


def test_every_campaign_is_listed_once_with_its_count_and_no_other() -> None:
    _, _, table = (DOCS / "reliability.md").read_text().partition("\n## Campaigns\n")
    listed = re.findall(r"^\| `([^`]+)` \| ([0-9,]+)", table, re.MULTILINE)
    sources = "\n".join(source.read_text() for source in (PROJECT / "tests").rglob("test_*.py"))
    campaigns = re.findall(r'Campaign\(\s*"([^"]+)", full=([0-9_]+)', sources)
    assert len(campaigns) > 5
    assert sorted(listed) == sorted((name, f"{int(full):,}") for name, full in campaigns)


def test_the_command_reference_is_up_to_date() -> None:
    assert make_cli_reference.PAGE.read_text() == make_cli_reference.reference(), "run docs/make_cli_reference.py"


def test_the_api_reference_is_up_to_date() -> None:
    assert make_api_reference.PAGE.read_text() == make_api_reference.reference(), "run docs/make_api_reference.py"


@pytest.mark.parametrize("module", make_api_reference.MODULES)
def test_every_public_name_is_in_the_api_reference_with_a_meaning(module: str) -> None:
    page = make_api_reference.PAGE.read_text()
    missing = [name for name in make_api_reference.public_names(module) if f"\n| `{name}` | " not in page]
    assert missing == []
    assert "` |  |" not in page


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_import_what_is_public_alone(page: Path) -> None:
    known = {name.partition(".")[0] for name in make_api_reference.MODULES}
    imported = [
        each for block in blocks_of(page.read_text()) if block.language == "python" for each in imports_of(block)
    ]
    own = [(module, name) for module, name in imported if module.partition(".")[0] in {*known, "epochlog"}]
    public = {
        (module, name) for module in make_api_reference.MODULES for name in make_api_reference.public_names(module)
    }
    assert [each for each in own if each not in public] == []


def imports_of(block: Block) -> Iterator[tuple[str, str]]:
    """Each module and name that a Python block imports."""
    for node in ast.walk(ast.parse(block.body)):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names)


def test_all_twenty_points_of_compatibility_are_marked() -> None:
    rows = re.findall(
        r"^\| (\d+) \|.*\| ((?:match|differ|not yet).*) \|$", (DOCS / "formats.md").read_text(), re.MULTILINE
    )
    assert [int(number) for number, _ in rows] == list(range(1, 21))


def test_the_page_about_pipelines_names_the_releases_that_are_tested() -> None:
    pins = dict(re.findall(r"^([\w-]+)==(\S+)$", (PROJECT / "constraints.txt").read_text(), re.MULTILINE))
    pom = (PROJECT / "tests/pipelines/pom.xml").read_text()
    coordinates = re.findall(r"<groupId>(\S+?)</groupId>\s*<artifactId>(\S+?)</artifactId>\s*<version>(\S+?)<", pom)
    delta, iceberg = (":".join(jar) for jar in coordinates if jar[0] != "epochlog")
    [spark] = re.findall(r'^lakes = \["pyspark==(.+?)"\]$', (PROJECT / "pyproject.toml").read_text(), re.MULTILINE)
    page = (DOCS / "pipelines.md").read_text()
    tested = {
        "pandas": pins["pandas"],
        "Polars": pins["polars"],
        "DuckDB": pins["duckdb"],
        "delta-rs": pins["deltalake"],
        "PyIceberg": pins["pyiceberg"],
        "Spark": spark,
        "Delta Lake": delta.rpartition(":")[2],
        "Iceberg": iceberg.rpartition(":")[2],
        "Airflow": pins["apache-airflow"],
        "Dagster": pins["dagster"],
    }
    table = page[: page.index("Tested means")]
    assert [name for name, release in tested.items() if f"{name} {release}" not in table] == []
    assert f"--packages {delta},{iceberg} " in page
    assert f"'pyspark=={spark}'" in page


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    for target in targets:
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), target
        assert not anchor or anchor in anchors_of(place), target


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", sorted({*DOCS.glob("*.md")} - {INDEX}), ids=lambda page: page.name)
def test_the_readme_leads_to_every_page_by_the_index(page: Path) -> None:
    assert "(docs/README.md)" in README.read_text()
    assert f"({page.name})" in INDEX.read_text()


def test_the_readme_is_short() -> None:
    assert len(README.read_bytes()) <= 9_000


def test_it_is_told_of_every_command_what_it_writes() -> None:
    _, _, table = (DOCS / "security.md").read_text().partition("\n## What is written, and what is sent\n")
    told = re.findall(r"`([a-z]+)", "".join(re.findall(r"^\|(.*?)\|", table.partition("\n## ")[0], re.MULTILINE)))
    always = {"warm"}  # stands below the table: kernels may be written by any command
    assert {command.__name__ for command in make_cli_reference.COMMANDS} - always <= set(told)


def test_the_time_that_compiling_takes_is_everywhere_the_one_that_was_measured() -> None:
    figures = (DOCS / "performance.md").read_text()
    [measured] = re.findall(r"^\| epochlog warm, the first \| (\d+)\.\d s \|$", figures, re.MULTILINE)
    pages = "\n".join(page.read_text() for page in PAGES)
    assert set(re.findall(r"\[(\d+) s\]\(performance\.md#cold-start\)", pages)) == {measured}


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=name_of)
def test_a_page_says_for_whom_it_is_and_what_must_be_installed(page: Path) -> None:
    assert re.match(r"# .+\n\n\*For .+\. Needs .+\.\*\n\n", page.read_text())


@pytest.mark.parametrize("page", sorted({*DOCS.rglob("*.md")} - {make_cli_reference.PAGE}), ids=name_of)
def test_no_line_is_too_long_to_be_read(page: Path) -> None:
    text = page.read_text()
    for block in reversed(blocks_of(text)):
        text = text[: block.start] + text[block.end :]
    assert [line for line in text.splitlines() if len(line) > 300] == []


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_no_page_names_a_place_on_somebodys_machine(page: Path) -> None:
    assert re.findall(r"/(?:home|root|work|Users)/", page.read_text()) == []
