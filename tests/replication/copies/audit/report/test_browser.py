"""The page in a browser: it is seen as it is meant, everything on it works, and nothing else does."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from replication.audit import audit_locally
from replication.copies.audit.judgement.run import Run
from replication.copies.audit.report import render, render_trends
from replication.copies.audit.report.commands import steps
from replication.copies.audit.report.page import MOST_CARDS, OPEN_CARDS
from tests.browser.chromium import chromium, prefer_dark, show_width
from tests.replication.copies.audit.random_clusters import write_clusters
from tests.replication.copies.audit.report.documents import (
    CRITICAL,
    STRANDED,
    agreeing,
    document,
    entry,
    finding,
    forked,
)


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


WIDTHS = (1400, 420)
BEYOND = """
    return [...document.querySelectorAll("main *")].filter((each) => !each.closest("svg, .unseen")
        && each.getBoundingClientRect().right > innerWidth).map((each) => each.outerHTML.slice(0, 80))"""


def full_document() -> dict[str, object]:
    """One with all that a page may have."""
    damaged = agreeing("orders", 1, "damaged")
    damaged["candidates"][1]["damage"] = "damaged, 3 errors in its log"
    wide = forked("a-topic-with-a-name-that-is-as-long-as-kafka-lets-it-be-" + "x" * 190)
    findings = (CRITICAL, *(finding(topic="orders", partition=1, offset=number) for number in range(12)))
    history = {"new": ["payments-0 is forked"], "gone": [], "standing": []}
    partitions = (forked(), damaged, wide, agreeing("orders", 2, "retention"))
    return document(*partitions, findings=findings, history=history, consumer_offsets=[STRANDED])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
def test_cards_are_seen_in_light_and_dark_in_a_window_and_on_a_telephone(
    browser: WebDriver, tmp_path: Path, dark: bool, width: int
) -> None:
    prefer_dark(browser, dark=dark)
    show_width(browser, width)
    show(browser, render(full_document()), tmp_path)
    background = browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
    assert ("255, 255, 255" in background) is not dark
    for part in (".verdict", "svg.bar", "svg .epoch", "svg .lost", ".choices li", ".run button"):
        size = browser.find_element(By.CSS_SELECTOR, part).rect
        assert size["width"] > 3, part
        assert size["height"] > 5, part
    colours = {bar.value_of_css_property("fill") for bar in browser.find_elements(By.CSS_SELECTOR, "svg .epoch")}
    assert len(colours) == 3
    assert console(browser) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(browser: WebDriver, tmp_path: Path, width: int) -> None:
    show_width(browser, width)
    show(browser, render(full_document()), tmp_path)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(BEYOND) == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
def test_trends_are_seen_whole(browser: WebDriver, tmp_path: Path, dark: bool, width: int) -> None:
    prefer_dark(browser, dark=dark)
    show_width(browser, width)
    found = ({"payments-" + "x" * 240 + "-0": "forked"}, {}, {"payments-0": "damaged", "orders-0": "lagging"})
    runs = [Run({"time": 1_700_000_000 + 86_400 * day}, verdicts, ()) for day, verdicts in enumerate(found)]
    show(browser, render_trends(runs), tmp_path)
    charts = browser.find_elements(By.CSS_SELECTOR, "svg.trend")
    assert len(charts) == 3
    assert all(chart.rect["height"] > 20 for chart in charts)
    assert browser.execute_script(BEYOND) == []
    assert console(browser) == []


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of an audit of random clusters, some of whose files are damaged."""
    roots = write_clusters(tmp_path_factory.mktemp("clusters"), "browser", range(40))
    return render(audit_locally(roots, workers=0).document)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
def test_a_real_audit_is_seen_whole_and_can_be_read(
    browser: WebDriver, tmp_path: Path, audited: str, dark: bool, width: int
) -> None:
    prefer_dark(browser, dark=dark)
    show_width(browser, width)
    show(browser, audited, tmp_path)
    for details in browser.find_elements(By.CSS_SELECTOR, ".card > details:not([open]) > summary"):
        details.click()
    assert len(browser.find_elements(By.CSS_SELECTOR, ".card")) > OPEN_CARDS
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(BEYOND) == []
    assert [each for each in browser.execute_script(CONTRAST) if each[0] < 4.5] == []
    assert console(browser) == []


def test_short_names_dates_and_options_are_not_broken(browser: WebDriver, tmp_path: Path, audited: str) -> None:
    show_width(browser, 420)
    show(browser, audited, tmp_path)
    words = browser.execute_script("""
        return [...document.querySelectorAll(".word")].filter((each) => each.textContent.length < 20)
            .map((each) => [each.textContent, each.getBoundingClientRect().height]).filter(([, height]) => height);""")
    assert {"broker-2", "2023-11-14", "--election-type"} <= {text for text, _ in words}
    assert [(text, height) for text, height in words if height > 40] == [], "on two lines"


def test_each_card_leads_to_its_row_and_back(browser: WebDriver, tmp_path: Path, audited: str) -> None:
    show_width(browser, 1400)
    show(browser, audited, tmp_path)
    links = browser.find_elements(By.CSS_SELECTOR, ".card > .back a")
    assert len(links) > OPEN_CARDS
    for link in links:
        card = link.get_attribute("data-card")
        name = browser.find_element(By.ID, f"{card}-name").text
        link.click()
        row = browser.switch_to.active_element
        assert name.startswith(f"{row.text} ")
        row.click()
        assert browser.switch_to.active_element.get_attribute("id") == card
    assert console(browser) == []


def test_on_a_telephone_the_loss_is_on_the_first_screen_and_the_picture_stacks(
    browser: WebDriver, tmp_path: Path
) -> None:
    show_width(browser, 420)
    show(browser, render(full_document()), tmp_path)
    loss = browser.find_element(By.CSS_SELECTOR, ".critical li").rect
    assert loss["y"] + loss["height"] < 500
    names, bars = (browser.find_elements(By.CSS_SELECTOR, f"#card-1 {each}") for each in (".who", "svg.bar"))
    places = [each.rect for pair in zip(names, bars, strict=True) for each in pair]
    assert len(places) == 6
    assert [place["y"] for place in places] == sorted(place["y"] for place in places)
    assert {round(place["x"]) for place in places} == {round(places[0]["x"])}
    letters = browser.find_element(By.CSS_SELECTOR, "#card-1 text.on-bar.narrow").value_of_css_property("font-size")
    assert letters == "12px"
    shown = [(each, browser.find_element(By.CSS_SELECTOR, f"#card-1 .{each}")) for each in ("narrow", "wide")]
    assert [kind for kind, label in shown if label.value_of_css_property("display") != "none"] == ["narrow"]
    show_width(browser, 1400)
    assert [kind for kind, label in shown if label.value_of_css_property("display") != "none"] == ["wide"]
    show_width(browser, 420)
    cells = browser.find_elements(By.CSS_SELECTOR, "#partitions tbody tr:first-child td")
    named = "return getComputedStyle(arguments[0], '::before').content"
    lines = [(browser.execute_script(named, each).strip('"'), each.text) for each in cells]
    assert lines[:3] == [("partition: ", "payments-0"), ("verdict: ", "forked"), ("also: ", "lagging")]
    assert len({each.rect["x"] for each in cells}) == 1


CONTRAST = """
    const colour = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { r, g, b, a }; };
    const light = ({ r, g, b }) => [r, g, b].map((each) => each / 255)
        .map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
        .reduce((sum, each, number) => sum + each * [0.2126, 0.7152, 0.0722][number], 0);
    const behind = (each) => {
        for (let at = each; at; at = at.parentElement) {
            const found = colour(getComputedStyle(at).backgroundColor);
            if (found.a > 0) return found;
        }
    };
    const texts = document.evaluate("//main//text()[normalize-space()]", document, null, 6);
    const found = [];
    for (let number = 0; number < texts.snapshotLength; number += 1) {
        const each = texts.snapshotItem(number).parentElement;
        if (each.closest("svg, script, button:disabled") || !each.getClientRects().length) continue;
        const [one, other] = [light(colour(getComputedStyle(each).color)), light(behind(each))];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        found.push([ratio, each.outerHTML.slice(0, 80)]);
    }
    return found;"""


@pytest.mark.parametrize("dark", [False, True])
def test_all_text_has_the_contrast_that_wcag_asks_for(browser: WebDriver, tmp_path: Path, dark: bool) -> None:
    prefer_dark(browser, dark=dark)
    show_width(browser, 1400)
    show(browser, render(full_document()), tmp_path)
    found = browser.execute_script(CONTRAST)
    assert len(found) > 100
    assert [each for each in found if each[0] < 4.5] == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_names_on_the_bars_have_contrast_too(browser: WebDriver, tmp_path: Path, dark: bool) -> None:
    prefer_dark(browser, dark=dark)
    many = forked()
    for each in many["branches"]:
        each["lineage"] = [entry(epoch, epoch * 37) for epoch in range(8)]
    show(browser, render(document(many)), tmp_path)
    text = browser.find_element(By.CSS_SELECTOR, "svg text.on-bar").value_of_css_property("fill")
    bars = {bar.value_of_css_property("fill") for bar in browser.find_elements(By.CSS_SELECTOR, "svg .epoch")}
    assert len(bars) == 8
    assert all(contrast(text, bar) >= 4.5 for bar in bars)


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of two colours as CSS gives them."""
    light = []
    for text in (one, other):
        parts = [int(each) / 255 for each in re.findall(r"\d+", text)[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        light.append(sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True)))
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_headings_go_down_one_step_at_a_time_and_tables_are_tables(browser: WebDriver, tmp_path: Path) -> None:
    for width in WIDTHS:
        show_width(browser, width)
        show(browser, render(full_document()), tmp_path)
        levels = browser.execute_script(
            "return [...document.querySelectorAll('h1, h2, h3, h4')].map((each) => Number(each.tagName[1]))"
        )
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        tables = browser.find_elements(By.TAG_NAME, "table")
        assert len(tables) == 6
        assert all(each.get_attribute("role") == "table" and each.accessible_name for each in tables)
        cells = browser.find_elements(By.CSS_SELECTOR, "#partitions tbody tr:first-child td")
        assert {each.aria_role for each in cells} <= {"cell", "gridcell"}


def test_a_row_leads_to_its_card_and_the_card_back_to_its_row(browser: WebDriver, tmp_path: Path) -> None:
    show_width(browser, 1400)
    forks = [forked("ledger", number) for number in range(MOST_CARDS)]
    others = [agreeing("a-first", number, "retention") for number in range(150)]
    show(browser, render(document(*forks, *others)), tmp_path)
    table = browser.find_element(By.ID, "partitions")
    table.find_element(By.CSS_SELECTOR, "th button").click()
    assert not table.find_elements(By.LINK_TEXT, "ledger-42"), "on another page of the table"
    browser.find_element(By.CSS_SELECTOR, "#card-43 .back a").click()
    row = browser.switch_to.active_element
    assert row.text == "ledger-42"
    assert row.is_displayed()
    details = browser.find_element(By.CSS_SELECTOR, "#card-43 > details")
    assert not details.get_property("open")
    row.click()
    assert details.get_property("open")
    assert browser.switch_to.active_element.get_attribute("id") == "card-43"
    assert console(browser) == []


@pytest.mark.parametrize("clipboard", [True, False])
def test_buttons_copy_commands_to_the_letter(browser: WebDriver, tmp_path: Path, clipboard: bool) -> None:
    partition = forked()
    for each in partition["branches"]:
        each["directory"] = f"/copies of a  cluster/it's {each['replica']}/payments-0"
    copies = document(partition, consumer_offsets=[STRANDED])
    show(browser, render(copies), tmp_path)
    allowed = {"permission": {"name": "clipboard-read"}, "setting": "granted"}
    browser.execute_cdp_cmd("Browser.setPermission", allowed)
    if not clipboard:  # as where the page came over plain HTTP
        browser.execute_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        browser.execute_script("document.addEventListener('copy', () => { window.copied = String(getSelection()); })")
    read = "return window.copied" if not clipboard else "return navigator.clipboard.readText()"
    expected = [step.command for step in steps(partition, copies["snapshots"], [STRANDED]) if step.command]
    commands, buttons = (browser.find_elements(By.CSS_SELECTOR, f"#card-1 .run {each}") for each in ("code", "button"))
    assert len(commands) == len(buttons) == len(expected) == 3
    for button, command in zip(buttons, expected, strict=True):
        button.click()
        WebDriverWait(browser, 10).until(lambda _, clicked=button: clicked.text == "copied")
        assert browser.execute_script(read) == command
        assert button.accessible_name == f"copy the command {command}".replace("  ", " ")
    assert console(browser) == []


def test_everything_can_be_reached_and_seen_by_keyboard(browser: WebDriver, tmp_path: Path) -> None:
    show(browser, render(document(forked(), findings=(CRITICAL,))), tmp_path)
    reached = []
    for _ in range(60):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        at = browser.switch_to.active_element
        if at.tag_name == "body":
            break
        reached.append(at.tag_name)
        assert at.value_of_css_property("outline-style") == "solid"
    kinds = "main a, main button:not(:disabled), main summary, main input"
    shown = [each for each in browser.find_elements(By.CSS_SELECTOR, kinds) if each.is_displayed()]
    assert len(reached) == len(shown)
    assert {"a", "button", "summary"} <= set(reached)


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
    forks = [forked("ledger", number) for number in range(MOST_CARDS + 20)]
    others = [agreeing("orders", number, "lagging") for number in range(4_000)]
    same = [agreeing("steady", number) for number in range(6_000)]
    findings = tuple(finding(partition=number) for number in range(5_000))
    page = render(document(*forks, *others, *same, findings=findings))
    assert len(page) < 4 << 20
    show(browser, page, tmp_path)
    assert len(browser.find_elements(By.CSS_SELECTOR, ".card")) == MOST_CARDS
    assert len(browser.find_elements(By.CSS_SELECTOR, ".card > details[open]")) == OPEN_CARDS
    assert "20 more partitions, of lower cost" in browser.find_element(By.TAG_NAME, "body").text
    assert len(browser.find_elements(By.CSS_SELECTOR, "#partitions tbody tr")) == 100
    assert console(browser) == []


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
