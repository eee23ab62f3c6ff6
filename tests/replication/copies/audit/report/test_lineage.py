"""The picture of a partition: who has what, where it would be cut, and what is damaged, in words too."""

import re
from typing import Any
from xml.etree import ElementTree as ET

from replication.copies.audit.report.lineage import HEIGHT, MOST_EPOCHS, Mark, draw, draw_alone
from tests.replication.copies.audit.report.documents import agreeing, branch, entry, fork, forked, pair


def drawn(partition: dict[str, Any], *marks: Mark) -> ET.Element:
    return ET.fromstring(draw(partition, marks))  # noqa: S314  our own


def of_class(picture: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in picture.iter() if name in element.get("class", "").split()]


def texts(picture: ET.Element, name: str) -> list[str]:
    return ["".join(element.itertext()) for element in of_class(picture, name)]


def legend(picture: ET.Element) -> str:
    return picture.findtext("figcaption") or ""


def test_each_copy_has_a_bar_for_each_epoch_parted_where_the_copies_part() -> None:
    told = [bar.findtext("title") for bar in of_class(drawn(forked()), "epoch")]
    assert told == [
        "epoch 0: offsets 0 to 199",
        "epoch 1: offsets 200 to 299",
        "epoch 1: offsets 300 to 419",
        "epoch 0: offsets 0 to 199",
        "epoch 1: offsets 200 to 299",
        "epoch 2: offsets 300 to 349",
        "epoch 0: offsets 0 to 199",
        "epoch 1: offsets 200 to 299",
    ]


def test_the_same_epoch_has_the_same_colour_and_place_on_all_copies() -> None:
    bars = of_class(drawn(forked()), "epoch")
    trunk = [(bar.get("class"), bar.get("x"), bar.get("width")) for bar in bars]
    assert trunk[0] == trunk[3] == trunk[6]
    assert trunk[1] == trunk[4] == trunk[7]
    assert trunk[2] != trunk[5]


def test_no_colour_stands_alone_the_epochs_are_named_on_the_bars_and_in_words() -> None:
    picture = drawn(forked())
    for kind in ("wide", "narrow"):
        named = [
            element.text for element in of_class(picture, "on-bar") if kind in (element.get("class") or "").split()
        ]
        assert {(text or "").split()[-1] for text in named} == {"0", "1", "2"}
    words = " ".join(texts(picture, "who")[1].split())
    epochs = "epoch 0 from offset 0, epoch 1 from offset 200, epoch 2 from offset 300"
    assert words == f"broker-2 offsets 0 to 349, high watermark 300 {epochs}"


def test_what_is_cut_off_is_hatched_and_counted_under_the_recommended_leader() -> None:
    picture = drawn(forked())
    assert set(texts(picture, "lost-label")) == {"cut at 300: 50 records"}
    (lost,) = of_class(picture, "lost")
    assert lost.get("x") == of_class(picture, "epoch")[5].get("x")
    assert "Hatched: cut off if broker-1 leads." in legend(picture)


def test_nothing_is_cut_where_nobody_knows_where_or_who_should_lead() -> None:
    partition = forked()
    partition["pairs"] = [pair("broker-1", "broker-2", "forked", None, None)]
    for each in (partition, {**forked(), "recommended": None}):
        picture = drawn(each)
        assert not of_class(picture, "cut")
        assert "Hatched" not in legend(picture)


def test_the_break_is_drawn_and_said_and_only_where_there_is_one() -> None:
    picture = drawn(forked())
    assert not of_class(picture, "break")
    assert legend(picture).endswith("To scale.")
    partition = forked()
    trunk = [entry(0, 0), entry(1, 200)]
    partition["branches"] = [branch("broker-1", 1_000_100, *trunk), branch("broker-2", 1_000_050, *trunk)]
    partition["forks"] = [fork("broker-1", "broker-2", 1_000_000, (1, None), (2, None))]
    partition["pairs"] = [pair("broker-1", "broker-2", "forked", 1_000_000, 50)]
    broken = drawn(partition)
    assert len(of_class(broken, "break")) == 4, "two lines through each bar"
    assert "offsets 11 to 999,974 are left out; the rest is to scale" in legend(broken)
    wide = [element.text for element in of_class(broken, "offset") if "wide" in (element.get("class") or "")]
    assert wide == ["1,000,000", "1,000,100", "0", "1,000,050"]


def test_each_fork_is_drawn_and_named_also_behind_an_earlier_difference() -> None:
    partition = forked()
    partition["forks"].append(fork("broker-1", "broker-4", 380, (1, None), (3, None)))
    picture = drawn(partition, Mark("broker-1", 100, "a difference at offset 100"))
    assert set(texts(picture, "fork-label")) == {"100", "300", "380"}
    in_bars = {line.get("x1") for line in of_class(picture, "fork") if line.get("y2") == str(HEIGHT)}
    assert in_bars == {f"{offset / 420 * 100:.3f}%" for offset in (300, 380)}
    first_copy = [each.get("x") for each in of_class(picture, "epoch")[:5]]
    assert first_copy == [f"{offset / 420 * 100:.3f}%" for offset in (0, 100, 200, 300, 380)]


def test_labels_of_offsets_do_not_overlap() -> None:
    partition = forked()
    partition["branches"] = [branch(f"broker-{n}", 420 + n, entry(0, 0)) for n in range(8)]
    picture = drawn(partition)
    assert set(texts(picture, "offset")) == {"300", "427", "0"}


def test_no_offset_stands_out_where_nothing_differs() -> None:
    assert set(texts(drawn(forked()), "fork-label")) == {"300"}
    assert texts(drawn(agreeing("orders", 0, "missing")), "fork-label") == []


def test_damage_is_marked_on_the_copy_that_has_it() -> None:
    picture = drawn(forked(), Mark("broker-3", 17, "corrupt-batch at offset 17"), Mark("broker-9", 1, "elsewhere"))
    (mark,) = of_class(picture, "mark")
    assert mark.findtext("title") == "corrupt-batch at offset 17"
    assert "✕ damage or a difference" in legend(picture)
    assert "✕" not in legend(drawn(forked()))


def test_a_log_without_epochs_is_one_bar() -> None:
    partition = forked()
    partition["branches"] = [branch("broker-1", 420)]
    titles = [bar.findtext("title") for bar in of_class(drawn(partition), "epoch")]
    assert titles == ["unknown epoch: offsets 0 to 299", "unknown epoch: offsets 300 to 419"]


def test_many_old_epochs_are_joined() -> None:
    partition = forked()
    partition["branches"] = [branch("broker-1", 5_000, *(entry(epoch, epoch) for epoch in range(5_000)))]
    picture = drawn(partition)
    titles = [bar.findtext("title") or "" for bar in of_class(picture, "epoch")]
    assert len(titles) <= 2 * (MOST_EPOCHS + 2)
    assert "earlier epochs, epoch 4997 from offset 4,997" in texts(picture, "who")[0]


def test_empty_and_missing_copies_are_said_in_words() -> None:
    partition = {**forked(), "branches": [branch("broker-1", 70, start=70)], "missing": ["broker-2", ""], "forks": []}
    picture = drawn({**partition, "pairs": []})
    assert [text.split(" high")[0].strip() for text in texts(picture, "who")] == [
        "broker-1 empty, from offset 70 on,",
        "broker-2 no copy",
    ]
    assert not of_class(picture, "bar")


def test_names_cannot_end_the_picture() -> None:
    partition = forked(topic="</svg><script>")
    for each in (*partition["branches"], *partition["pairs"]):
        for key in ("replica", "leader"):
            each[key] = {"broker-1": "<b>&"}.get(each.get(key), each.get(key))
    partition["recommended"] = "<b>&"
    assert texts(drawn(partition), "who")[0].startswith("<b>&")


def test_a_notebooks_picture_brings_its_style() -> None:
    alone = draw_alone(forked())
    assert alone.startswith("<style>")
    assert 'id="hatch"' in alone
    drawn_with = set(re.findall(r'class="([^"]+)"', draw(forked())))
    styled = {name for names in drawn_with for name in names.split()} - {"bar", "axis"}
    assert all(f".{name}" in alone for name in styled)
