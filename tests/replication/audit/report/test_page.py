"""The report: one page that needs nothing beside itself, and that a browser shows as it is meant."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By

from replication.audit.report import render
from replication.audit.report.page import MOST_PICTURES
from tests.browser.chromium import chromium, prefer_dark
from tests.replication.audit.report.documents import agreeing, document, finding, forked

HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    page = render(document(forked(), findings=(finding(),)))
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)|url\((?!#)|@import|https?://", page)


def test_names_from_files_stay_text() -> None:
    page = render(document(forked(topic=HOSTILE), findings=(finding(file=HOSTILE, message=HOSTILE),)))
    assert "<img" not in page
    assert page.count("</script>") == page.count("<script")


def test_agreement_is_said_in_a_sentence() -> None:
    page = render(document(agreeing("orders", 0)))
    assert "All copies agree, and no damage was found in what was read." in page
    assert "Forked partitions" not in page


def test_an_identical_partition_with_an_error_is_not_called_sound() -> None:
    assert "no damage was found" not in render(document(agreeing("orders", 0), findings=(finding(),)))


def test_the_loss_of_acknowledged_records_comes_first() -> None:
    critical = finding("committed-records-lost", "critical", message="120 records of payments-0")
    page = render(document(forked(), findings=(critical, finding())))
    heading = page.index("Acknowledged records are lost, or will be")
    assert heading < page.index("120 records of payments-0") < page.index("of log read in") < page.index('"tiles"')


def test_that_the_choices_differ_comes_before_the_table_of_partitions() -> None:
    page = render(document(forked(), agreeing("orders", 0)))
    told = page.index("payments-0: the choices differ: Kafka elects broker-2 (leader epoch 2, end offset 350)")
    assert told < page.index('"tiles"') < page.index("Partitions that differ")
    assert "least is lost under broker-1 (leader epoch 1, end offset 420): 50 records" in page
    assert "the choices differ" not in render(document(agreeing("orders", 0)))


def test_a_damaged_copy_is_never_named_as_leader_without_its_damage() -> None:
    partition = forked()
    for each in partition["candidates"][:2]:
        each["damage"] = "damaged, 7 errors in its log"
    page = render(document(partition))
    assert page.count("broker-1 (not to be trusted: damaged, 7 errors in its log)") >= 3
    assert "broker-1 (least loss, not to be trusted)" in page


def test_a_partition_with_an_unread_copy_is_unknown_and_nothing_in_it_is_called_sound() -> None:
    partition = {**agreeing("orders", 0, "unknown"), "unread": ["broker-3"], "recommended": None}
    page = render(document(partition))
    assert "their contents, and what is lost, are not known" in page
    assert "nothing is lost" not in page
    assert "All copies agree" not in page
    assert '"broker-3", 100, null, null]' in page, "how many records are lost is not known"


def test_what_is_new_since_the_last_audit_is_listed() -> None:
    history = {"new": ["payments-0 is forked"], "gone": []}
    assert "payments-0 is forked" in render(document(forked(), history=history))


def test_consumers_beyond_a_cut_are_listed() -> None:
    offset = {
        "group": "billing",
        "topic": "payments",
        "partition": 0,
        "committed_offset": 410,
        "truncate_to": 300,
        "replica": "broker-1",
    }
    assert "billing" in render(document(forked(), consumer_offsets=[offset]))


@pytest.fixture(scope="module")
def browser() -> Iterator[WebDriver]:
    with chromium() as started:
        yield started


def show(browser: WebDriver, page: str, directory: Path) -> None:
    file = directory / "report.html"
    file.write_text(page)
    browser.get(file.as_uri())


def console(browser: WebDriver) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser")]


@pytest.mark.parametrize("dark", [False, True])
def test_forks_are_seen_in_light_and_dark(browser: WebDriver, tmp_path: Path, dark: bool) -> None:
    prefer_dark(browser, dark=dark)
    show(browser, render(document(forked(), findings=(finding(),))), tmp_path)
    background = browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
    assert ("255, 255, 255" in background) is not dark
    for part in ("svg.lineage", "svg .epoch", "svg .lost", "svg .replica"):
        size = browser.find_element(By.CSS_SELECTOR, part).rect
        assert size["width"] > 5
        assert size["height"] > 5
    colours = {bar.value_of_css_property("fill") for bar in browser.find_elements(By.CSS_SELECTOR, "svg .epoch")}
    assert len(colours) == 3
    assert console(browser) == []


def test_findings_can_be_sorted_and_searched(browser: WebDriver, tmp_path: Path) -> None:
    findings = tuple(finding(kind=f"kind-{number}", offset=(number * 7) % 11) for number in range(11))
    show(browser, render(document(forked(), findings=findings)), tmp_path)

    def column(number: int) -> list[str]:
        return [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, f"#findings td:nth-child({number})")]

    offset = browser.find_element(By.CSS_SELECTOR, "#findings th:nth-child(7) button")
    offset.click()
    assert column(7) == [str(number) for number in range(11)]
    offset.click()
    assert column(7) == [str(number) for number in reversed(range(11))]
    browser.find_element(By.CSS_SELECTOR, "#findings input").send_keys("KIND-4")
    assert column(2) == ["kind-4"]
    assert console(browser) == []


def test_ten_thousand_partitions_stay_readable(browser: WebDriver, tmp_path: Path) -> None:
    forks = [forked("ledger", number) for number in range(MOST_PICTURES + 20)]
    others = [agreeing("orders", number, "lagging") for number in range(4_000)]
    same = [agreeing("steady", number) for number in range(6_000)]
    findings = tuple(finding(partition=number) for number in range(5_000))
    page = render(document(*forks, *others, *same, findings=findings))
    assert len(page) < 4 << 20
    show(browser, page, tmp_path)
    assert len(browser.find_elements(By.CSS_SELECTOR, "svg.lineage")) == MOST_PICTURES
    assert "20 more forked partitions" in browser.find_element(By.TAG_NAME, "body").text
    assert len(browser.find_elements(By.CSS_SELECTOR, "#partitions tbody tr")) == 100
    assert console(browser) == []


def test_what_a_browser_is_shown_is_printable() -> None:
    page = render(document(forked(), findings=(finding(file="\udcff\x1b[31m.log", message="\u202e"),)))
    page.encode()
    assert "\\\\xff\\\\x1b[31m.log" in page
    assert not re.findall(r"[\x00-\x09\x0b-\x1f\u202e]", page)


INJECTED = (
    "<script>document.title = 'injected'</script>",
    "<img src=x onerror=\"document.title = 'injected'\">",
    "<script src=\"data:text/javascript,document.title = 'injected'\"></script>",
    "<style>body { background-color: rgb(1, 2, 3) !important }</style>",
    '<p style="position: fixed" id="styled">x</p>',
    "<iframe srcdoc=\"<script>parent.document.title = 'injected'</script>\"></iframe>",
)


@pytest.mark.parametrize("injected", INJECTED)
def test_the_browser_runs_and_applies_nothing_that_was_brought_into_the_page(
    browser: WebDriver, injected: str, tmp_path: Path
) -> None:
    page = render(document(forked(), findings=tuple(finding(offset=number) for number in range(11))))
    show(browser, page.replace("</body>", f"{injected}</body>"), tmp_path)
    assert browser.title.startswith("Audit of")
    assert "rgba(1, 2, 3" not in browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
    styled = browser.find_elements(By.ID, "styled")
    assert all(each.value_of_css_property("position") == "static" for each in styled)
    assert any("Content Security Policy" in message for message in console(browser)), "nothing was blocked"
    # What is the page's own still works.
    assert len(browser.find_elements(By.CSS_SELECTOR, "#findings tbody tr")) == 11
    browser.find_element(By.CSS_SELECTOR, "#findings th:nth-child(7) button").click()


def test_the_browser_asks_nobody_for_anything(browser: WebDriver, tmp_path: Path) -> None:
    page = render(document(forked(), findings=(finding(),)))
    beacon = "<img src='http://127.0.0.1:9/x.png'><link rel='stylesheet' href='http://127.0.0.1:9/x.css'>"
    show(browser, page.replace("</body>", f"{beacon}</body>"), tmp_path)
    messages = console(browser)
    assert len([message for message in messages if "Content Security Policy" in message]) == 2
    assert not [message for message in messages if "ERR_" in message]
