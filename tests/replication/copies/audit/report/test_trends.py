"""The page of trends has each run, draws what was found to scale, and tells what changed."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.copies.audit.judgement.run import Run
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.report import render_trends
from replication.copies.audit.report.trends import HEIGHT, MOST_CHANGES, TRENDS, WIDTH

DAY = 86_400
BEGUN = 1_700_000_000
VERDICTS = st.dictionaries(
    st.from_regex(r"t-[0-9]{1,2}", fullmatch=True), st.sampled_from([each.value for each in Verdict][:-1]), max_size=9
)


def run(day: float, verdicts: dict[str, str], findings: tuple[str, ...] = ()) -> Run:
    return Run({"time": BEGUN + day * DAY, "partitions": 20, "bytes": 1_000, "seconds": 2.5}, verdicts, findings)


def text_of(page: str) -> str:
    body = page[page.index("<main>") : page.index("</main>")]
    return unescape(re.sub(r"<[^>]*>", " ", body))


def cells(page: str) -> list[list[str]]:
    table = page[page.index("<tbody") : page.index("</tbody>")]
    return [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in table.split("<tr")[1:]]


@given(st.lists(VERDICTS, min_size=1, max_size=8))
def test_each_run_is_a_row_the_latest_first_and_a_point_wherever_there_is_anything(found: list[dict[str, str]]) -> None:
    runs = [run(day, verdicts) for day, verdicts in enumerate(found)]
    page = render_trends(runs)
    counts = [[sum(each in trend.verdicts for each in verdicts.values()) for trend in TRENDS] for verdicts in found]
    assert [[int(cell) for cell in row[2 : 2 + len(TRENDS)]] for row in cells(page)] == counts[::-1]
    drawn = page.split('<svg class="trend')[1:]
    assert len(drawn) == sum(any(column) for column in zip(*counts, strict=True))
    assert all(each.count("<circle") == len(runs) for each in drawn)


def test_points_are_to_scale_and_what_lies_between_is_what_was_known() -> None:
    runs = [run(0, {"a-0": "forked", "b-0": "forked"}), run(1, {"a-0": "forked"}), run(4, {})]
    page = render_trends(runs)
    points = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', page)]
    assert points == [(0, 0), (WIDTH / 4, HEIGHT / 2), (WIDTH, HEIGHT)]
    assert f"M0.0 0.0 H{WIDTH / 4} V{HEIGHT / 2} H{WIDTH}.0 V{HEIGHT}.0" in page
    assert "diverged: 0" in text_of(page)
    assert "1 in the run before; at most 2, above none in 2 of 3 runs" in text_of(page)
    assert "none in any run" in text_of(page)


def test_what_changed_is_told_the_latest_first_without_notes() -> None:
    note, error = "broker-1: info unknown-file in a-0", "broker-1: error corrupt-batch in a-0"
    told = text_of(render_trends([run(0, {}), run(1, {"a-0": "damaged"}, (note, error)), run(2, {})]))
    assert note not in told
    order = [
        told.index(each) for each in ("gone: a-0: damaged", f"gone: {error}", "new: a-0: damaged", f"new: {error}")
    ]
    assert order == sorted(order)


def test_many_changes_are_counted() -> None:
    many = {f"t-{number}": "forked" for number in range(MOST_CHANGES + 7)}
    told = text_of(render_trends([run(0, {}), run(1, many)]))
    assert told.count("new: ") == MOST_CHANGES
    assert "7 changes more are left out" in told


def test_runs_that_could_not_be_read_are_told() -> None:
    told = text_of(render_trends([run(0, {})], ["h/audit-1.json: it is no run of an audit"]))
    assert "1 run could not be read" in told
    assert "h/audit-1.json: it is no run of an audit" in told


@pytest.mark.parametrize("name", ["<script>alert(1)</script>-0", "\x1b[2J-0", "a\udcff-0"])
def test_names_are_shown_as_text_and_nothing_but_our_script_runs(name: str) -> None:
    page = render_trends([run(0, {}), run(1, {name: "forked"})])
    page.encode()
    assert page.count("<script") == 1
    assert "style=" not in page
    assert "\x1b" not in page
    assert "script-src 'sha256-" in page
