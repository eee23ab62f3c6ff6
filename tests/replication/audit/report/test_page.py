"""The report: one page that needs nothing beside itself, and that a browser shows as it is meant."""

import json
import re
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from replication.audit.judgement.verdict_sentence import verdict_in_words
from replication.audit.report import render
from replication.audit.report.card import MOST_FINDINGS
from replication.audit.report.page import MOST_CARDS, OPEN_CARDS
from replication.audit.report.summary import MOST_LISTED
from tests.browser.chromium import chromium, prefer_dark, show_width
from tests.replication.audit.report.documents import agreeing, document, entry, finding, forked

HOSTILE = "</script><img src=x onerror=alert(1)>"
CRITICAL = finding("committed-records-lost", "critical", message="120 records of payments-0")
STRANDED = {
    "group": "billing",
    "topic": "payments",
    "partition": 0,
    "committed_offset": 410,
    "truncate_to": 300,
    "replica": "broker-1",
}


def card_of(page: str, name: str) -> str:
    """The card of one partition."""
    (found,) = [
        each for each in re.findall(r'<section class="card".*?</section>', page, re.DOTALL) if f">{name} <" in each
    ]
    return found


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    page = render(document(forked(), findings=(finding(),)))
    assert not re.findall(r"(?:src|href)=[\"'](?!data:|#)|url\((?!#)|@import|https?://", page)


def test_names_from_files_stay_text() -> None:
    partition = forked(topic=HOSTILE)
    for key in ("candidates", "branches", "pairs", "forks"):
        for each in partition[key]:
            for name in ("replica", "directory", "leader", "follower", "left", "right"):
                each[name] = (
                    HOSTILE if each.get(name) in {"broker-2", "/copies/broker-2/payments-0"} else each.get(name)
                )
    partition |= {"kafkas_choice": HOSTILE, "missing": [HOSTILE], "unread": [HOSTILE], "least_loss": HOSTILE}
    hostile = finding(file=HOSTILE, message=HOSTILE, topic=HOSTILE, replica=HOSTILE)
    offset = {**STRANDED, "group": HOSTILE, "topic": HOSTILE}
    history = {"new": [HOSTILE], "gone": []}
    page = render(document(partition, findings=(hostile,), consumer_offsets=[offset], history=history))
    assert "<img" not in page
    assert page.count("</script>") == page.count("<script")


def test_agreement_is_said_in_a_sentence_and_nothing_is_to_do() -> None:
    page = render(document(agreeing("orders", 0)))
    assert "All copies agree, and no damage was found in what was read" in page
    assert 'class="card"' not in page
    assert "<ol" not in page


def test_an_identical_partition_with_an_error_is_not_called_sound() -> None:
    assert "no damage was found" not in render(document(agreeing("orders", 0), findings=(finding(),)))


def test_the_loss_of_acknowledged_records_comes_first() -> None:
    page = render(document(forked(), findings=(CRITICAL, finding())))
    heading = page.index("Acknowledged records are lost, or will be")
    link = page.index('<a href="#card-1">payments-0</a>')
    assert heading < link < page.index('"tiles"') < page.index("What to do first") < page.index('id="card-1"')
    assert "120 acknowledged records if broker-2 leads, as Kafka elects; 0 if broker-1 leads" in page


def test_only_so_many_losses_are_listed_at_once() -> None:
    forks = [forked("ledger", number) for number in range(MOST_LISTED + 3)]
    critical = tuple(
        finding("committed-records-lost", "critical", topic="ledger", partition=number)
        for number in range(MOST_LISTED + 3)
    )
    page = render(document(*forks, findings=critical))
    assert page.count("acknowledged records if broker-2 leads") == MOST_LISTED
    assert f"In {MOST_LISTED + 3} of {MOST_LISTED + 3} partitions" in page
    assert "3 more follow below." in page


def test_a_card_begins_with_the_verdict_as_a_sentence() -> None:
    card = card_of(render(document(forked())), "payments-0")
    sentence = escape(verdict_in_words(forked()))
    assert f'<p class="verdict">{sentence}.</p>' in card
    assert card.index(sentence) < card.index("What each leader would cost") < card.index("<figure")
    assert card.index("<figure") < card.index("What to do")


def test_a_card_says_for_each_leader_what_is_lost_where_when_and_by_whom() -> None:
    card = card_of(render(document(forked())), "payments-0")
    choices = re.findall(r'<li><p class="leader">.*?</ul>', card, re.DOTALL)
    leaders = [re.findall(r"<b>(broker-\d)</b> leads", each)[0] for each in choices]
    assert leaders == ["broker-1", "broker-2", "broker-3"], "the least loss first"
    assert "<b>50</b> records lost, <b>0</b> acknowledged" in choices[0]
    assert "Offsets 300..349, leader epoch 2, written 2023-11-14 22:13:20 to 22:14:20 UTC." in choices[0]
    assert "broker-2 truncates to 300: 50 records, 3,500 bytes" in choices[0]
    assert "broker-3 truncates nothing" in choices[0]
    assert ("least loss" in choices[0], "Kafka&#x27;s choice" in choices[0]) == (True, False)


def test_what_is_said_of_two_copies_is_said_once() -> None:
    card = card_of(render(document(forked())), "payments-0")
    lines = re.findall(r"broker-\d truncates to 300: [^<]*", card)
    assert len(lines) == len([each for each in forked()["pairs"] if each["records_lost"]])
    fork = "At offset 300 broker-1 has epoch 1, written 2023-11-14 22:13:20 UTC; broker-2 has epoch 2, written"
    assert card.count(fork) == 1


def test_a_damaged_copy_is_never_named_as_leader_without_its_damage() -> None:
    partition = forked()
    for each in partition["candidates"][:2]:
        each["damage"] = "damaged, 7 errors in its log"
    page = render(document(partition))
    assert page.count("broker-1 (not to be trusted: damaged, 7 errors in its log)") == 1, "in the table"
    choices = re.findall(r'<li><p class="leader">.*?</ul>', page, re.DOTALL)
    assert ["Not to be trusted: damaged, 7 errors in its log." in each for each in choices] == [True, True, False]


def test_a_partition_with_an_unread_copy_is_unknown_and_nothing_in_it_is_called_sound() -> None:
    partition = {**agreeing("orders", 0, "unknown"), "unread": ["broker-3"], "recommended": None}
    page = render(document(partition))
    assert "their contents, and what is lost, are not known" in page
    assert "The copy on broker-3 could not be read whole, or changed meanwhile: what it held is not known" in page
    assert "nothing is lost" not in page
    assert "All copies agree" not in page
    assert rows_of(page, "partitions") == [["orders-0", "unknown", "broker-1", "broker-1", "broker-3", 100]], (
        "how many records are lost is not known"
    )


def rows_of(page: str, table: str) -> list[list[object]]:
    """The rows of a table, without columns that are empty throughout."""
    (data,) = re.findall(rf'id="{table}-data">(.*?)</script>', page)
    rows: list[list[object]] = json.loads(data)["rows"]
    return rows


def test_damage_and_silent_differences_and_missing_copies_have_cards_the_worst_first() -> None:
    damaged = agreeing("orders", 1, "damaged")
    damaged["candidates"][1]["damage"] = "damaged, 3 errors in its log"
    silent = agreeing("orders", 2, "silent-divergence")
    missing = {**agreeing("orders", 3, "missing"), "missing": ["broker-3"]}
    harmless = [agreeing("orders", 4, "retention"), agreeing("orders", 5, "lagging"), agreeing("orders", 6)]
    losing = forked("orders", 9)
    critical = finding("committed-records-lost", "critical", topic="orders", partition=9)
    error = finding(topic="orders", partition=1, offset=17, message="the checksum does not match")
    partitions = [*harmless, missing, silent, damaged, forked("orders", 0), losing]
    page = render(document(*partitions, findings=(critical, error)))
    assert re.findall(r'id="card-\d+-name">(\S+) ', page) == [
        "orders-9",
        "orders-2",
        "orders-1",
        "orders-0",
        "orders-3",
    ]
    card = card_of(page, "orders-1")
    assert "The copy on broker-2 is damaged" in card
    assert "<b>error: corrupt-batch</b> (broker-1, 00000000000000000000.log, byte 4,096): the checksum does not" in card
    assert "corrupt-batch at offset 17" in card, "marked in the picture"


def test_only_so_many_findings_stand_on_a_card() -> None:
    findings = tuple(finding(offset=number) for number in range(MOST_FINDINGS + 4))
    card = card_of(render(document(forked(), findings=findings)), "payments-0")
    assert card.count("<b>error: corrupt-batch</b>") == MOST_FINDINGS
    assert '4 more are in the <a href="#findings">table of findings</a>' in card


def test_what_belongs_to_no_partition_that_was_compared_is_said_too() -> None:
    root = finding("checkpoint-unparsable", topic=None, partition=None, file="replication-offset-checkpoint")
    nowhere = finding("partition-nowhere", "warning", topic="lost", partition=7, file=None, message="no copy is there")
    page = render(document(agreeing("orders", 0), findings=(root, nowhere)))
    assert "<b>broker-1, replication-offset-checkpoint</b>: the checksum" in page
    assert "<b>broker-1, lost-7</b>: no copy is there" in page


def test_what_to_do_first_stands_above_the_cards_where_records_are_at_stake() -> None:
    page = render(document(forked()))
    assert page.index("Start no broker and hold no election") < page.index('class="card"')
    assert "export BOOTSTRAP=broker1:9092" in page
    missing = render(document({**agreeing("orders", 3, "missing"), "missing": ["broker-3"]}))
    assert "Start no broker" not in missing
    assert "export BOOTSTRAP" in missing, "its command needs it"
    damaged = agreeing("orders", 1, "damaged")
    assert "export BOOTSTRAP" not in render(document(damaged))


def test_what_is_new_since_the_last_audit_is_listed() -> None:
    page = render(document(forked(), history={"new": ["payments-0 is forked"], "gone": []}))
    assert rows_of(page, "changes") == [["new", "payments-0 is forked"]]
    assert '<a href="#since">Since the last audit</a>: 1 new and 0 gone.' in page
    same = render(document(forked(), history={"new": [], "gone": []}))
    assert '<a href="#since">Since the last audit</a>: nothing new.' in same


def test_consumers_beyond_a_cut_are_listed() -> None:
    page = render(document(forked(), consumer_offsets=[STRANDED]))
    assert rows_of(page, "consumers") == [["billing", "payments-0", 410, 300, "broker-1"]]
    assert "--group billing --topic payments:0 --reset-offsets --to-offset 300" in card_of(page, "payments-0")


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


def full_document() -> dict[str, object]:
    """One with all that a page may have."""
    damaged = agreeing("orders", 1, "damaged")
    damaged["candidates"][1]["damage"] = "damaged, 3 errors in its log"
    wide = forked("a-topic-with-a-name-that-is-as-long-as-kafka-lets-it-be-" + "x" * 190)
    findings = (CRITICAL, *(finding(topic="orders", partition=1, offset=number) for number in range(12)))
    history = {"new": ["payments-0 is forked"], "gone": []}
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
    beyond = """
        return [...document.querySelectorAll("main *")].filter((each) => !each.closest("svg, .unseen")
            && each.getBoundingClientRect().right > innerWidth).map((each) => each.outerHTML.slice(0, 80))"""
    assert browser.execute_script(beyond) == []


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
def test_a_button_copies_the_command(browser: WebDriver, tmp_path: Path, clipboard: bool) -> None:
    show(browser, render(document(forked())), tmp_path)
    allowed = {"permission": {"name": "clipboard-read"}, "setting": "granted"}
    browser.execute_cdp_cmd("Browser.setPermission", allowed)
    if not clipboard:  # as where the page came over plain HTTP
        browser.execute_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        browser.execute_script("document.addEventListener('copy', () => { window.copied = String(getSelection()); })")
    command, button = (browser.find_elements(By.CSS_SELECTOR, f"#card-1 .run {each}")[1] for each in ("code", "button"))
    button.click()
    WebDriverWait(browser, 10).until(lambda _: button.text == "copied")
    read = "return window.copied" if not clipboard else "return navigator.clipboard.readText()"
    assert browser.execute_script(read) == command.text
    assert command.text.startswith("epochlog elect --bootstrap ")
    assert button.accessible_name == f"copy the command {command.text}"
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
