"""The picture of a fork: who has what, and where it would be cut."""

from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from replication.audit.report.lineage import LABELS, MOST_EPOCHS, WIDTH, Scale, draw
from tests.replication.audit.report.documents import branch, entry, forked, pair


def drawn(partition: dict[str, Any]) -> ET.Element:
    return ET.fromstring(draw(partition))  # noqa: S314  our own


def of_class(svg: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in svg.iter() if name in element.get("class", "").split()]


def texts(svg: ET.Element, name: str) -> list[str | None]:
    return [element.text for element in of_class(svg, name)]


def test_each_replica_has_a_bar_for_each_epoch_parted_where_the_logs_part() -> None:
    svg = drawn(forked())
    assert texts(svg, "replica") == ["broker-1", "broker-2", "broker-3"]
    told = [bar.findtext("title") for bar in of_class(svg, "epoch")]
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


def test_the_same_epoch_has_the_same_colour_and_place_on_all_replicas() -> None:
    bars = of_class(drawn(forked()), "epoch")
    trunk = [(bar.get("class"), bar.get("x"), bar.get("width")) for bar in bars]
    assert trunk[0] == trunk[3] == trunk[6]
    assert trunk[1] == trunk[4] == trunk[7]
    assert trunk[2] != trunk[5]


def test_the_cut_is_drawn_on_those_who_lose_under_the_recommended_leader() -> None:
    svg = drawn(forked())
    assert texts(svg, "lost-label") == ["cut at 300: loses 50 records, 3,500 bytes"]
    (lost,) = of_class(svg, "lost")
    assert lost.get("x") == of_class(svg, "epoch")[5].get("x")
    assert texts(svg, "note") == ["least loss", "350 records", "300 records"]


def test_nothing_is_cut_where_nobody_knows_where() -> None:
    partition = forked()
    partition["pairs"] = [pair("broker-2", "broker-1", "forked", None, None)]
    assert not of_class(drawn(partition), "cut")


def test_a_log_without_epochs_is_one_bar() -> None:
    partition = forked()
    partition["branches"] = [branch("broker-1", 420)]
    titles = [bar.findtext("title") for bar in of_class(drawn(partition), "epoch")]
    assert titles == ["unknown epoch: offsets 0 to 299", "unknown epoch: offsets 300 to 419"]


def test_many_old_epochs_are_joined() -> None:
    partition = forked()
    partition["branches"] = [branch("broker-1", 5_000, *(entry(epoch, epoch) for epoch in range(5_000)))]
    titles = [bar.findtext("title") or "" for bar in of_class(drawn(partition), "epoch")]
    assert titles[0].startswith(f"epochs 0 to {5_000 - MOST_EPOCHS - 1}: offsets 0 to")
    assert len(titles) <= MOST_EPOCHS + 2


def test_names_cannot_end_the_picture() -> None:
    partition = forked(topic="</svg><script>")
    partition["branches"][0]["replica"] = "<b>&"
    assert texts(drawn(partition), "replica")[0] == "<b>&"


@given(
    start=st.integers(0, 2**62),
    trunk=st.integers(0, 2**40),
    tail=st.integers(0, 2**40),
    one=st.floats(0, 1),
    other=st.floats(0, 1),
)
def test_higher_offsets_stand_further_right_within_the_picture(
    start: int, trunk: int, tail: int, one: float, other: float
) -> None:
    end = start + trunk + tail
    cut = pair("a", "b", "forked", start + trunk, 0)
    scale = Scale.over({"branches": [branch("a", end, start=start)], "pairs": [cut], "forks": []})
    low, high = sorted(start + int(part * (trunk + tail)) for part in (one, other))
    assert LABELS <= scale.x(low) <= scale.x(high) <= WIDTH
    assert scale.x(start) == LABELS or trunk + tail == 0
