"""Every answer and every checkpoint file, beside those of Kafka's own LeaderEpochFileCache."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.campaign import Campaign
from tests.epoch.oracle_commands import OurCache
from tests.oracle.kafka import JavaProgram

SEQUENCES = Campaign("epoch-oracle", full=5_000, share=300)
TEXTS = Campaign("epoch-oracle-texts", full=20_000, share=400)

EPOCHS = st.integers(-2, 12) | st.integers(0, 2**31 - 1)
OFFSETS = st.integers(-2, 60) | st.integers(0, 2**63 - 1)
VALID_EPOCHS = st.integers(0, 12)
VALID_OFFSETS = st.integers(0, 60)


def command(*parts: str | st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    """A line whose strategies are drawn."""
    drawn = [st.just(part) if isinstance(part, str) else part.map(str) for part in parts]
    return st.tuples(*drawn).map(" ".join)


def entries(separator: str) -> st.SearchStrategy[list[str]]:
    """Entries that need not rise."""
    entry = st.tuples(VALID_EPOCHS, VALID_OFFSETS).map(lambda pair: separator.join(map(str, pair)))
    return st.lists(entry, min_size=1, max_size=5)


CHANGES = st.one_of(
    command("assign", VALID_EPOCHS, VALID_OFFSETS),
    command("assign", EPOCHS, OFFSETS),
    command("truncateEnd", OFFSETS),
    command("truncateStart", OFFSETS),
    entries(":").map(lambda drawn: " ".join(["assignMany", *drawn])),
)
QUESTIONS = st.one_of(
    command("end", EPOCHS, OFFSETS),
    command("epochForOffset", OFFSETS),
    command("range", OFFSETS, OFFSETS),
    command(st.sampled_from(["prev", "prevEntry", "next", "entry"]), EPOCHS),
    st.sampled_from(["latest", "latestEpoch", "earliest", "prev", "nonEmpty", "entries", "fileNow", "file"]),
)
RARE_CHANGES = st.one_of(
    st.sampled_from(["clear", "clearAndFlush", "tasks", "reload", "crash"]),
    entries(" ").map(lambda drawn: f"writeFile 0\\n{len(drawn)}\\n" + "\\n".join(drawn)),
)
SEQUENCE = st.lists(st.one_of(CHANGES, CHANGES, QUESTIONS, QUESTIONS, RARE_CHANGES), min_size=20, max_size=60)

EVERYTHING = ["entries", "file", "end 5 70", "end 0 70", "epochForOffset 30"]


def kind(answer: str) -> str:
    """What is compared: the answer, or that there was an error."""
    return "ERR" if answer.startswith("ERR") else answer


def test_every_answer_and_file_is_kafkas(epoch_oracle: JavaProgram, quick_dir: Path) -> None:
    tried = 0

    @seed(SEQUENCES.seed)
    @settings(max_examples=SEQUENCES.count, suppress_health_check=list(HealthCheck), database=None)
    @given(SEQUENCE)
    def compare(lines: list[str]) -> None:
        nonlocal tried
        tried += 1
        script, ours = OurCache(quick_dir / f"ours-{tried}").run([*lines, *EVERYTHING])
        kafkas = epoch_oracle.ask("reset", *script)[1:]
        assert list(zip(script, ours, strict=True)) == list(zip(script, map(kind, kafkas), strict=True))

    compare()
    SEQUENCES.report(tried, beside=epoch_oracle.release)


NUMBERS = st.sampled_from(["0", "1", "2", "3", "10", "+1", "-1", "", "x", "1.0", "2147483648", "9223372036854775808"])
BLANKS = st.sampled_from([" ", " ", " ", "  ", "\\t", " \\t "])
ENDS = st.sampled_from(["\\n", "\\n", "\\n", "\\r\\n", "\\r", " \\n", "\\n\\n", ""])
LINES = st.one_of(
    st.tuples(st.integers(0, 9).map(str), BLANKS, st.integers(0, 99).map(str)),
    st.tuples(NUMBERS, BLANKS, NUMBERS),
    st.tuples(NUMBERS),
    st.tuples(NUMBERS, BLANKS, NUMBERS, BLANKS, NUMBERS),
    st.tuples(BLANKS, NUMBERS, BLANKS, NUMBERS),
).map("".join)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A checkpoint's text, escaped for the oracle; most are sound but for one thing."""
    lines = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), max_size=4))
    body = [f"{epoch} {start}" for epoch, start in lines]
    text = ["0", str(len(body)), *body]
    for position in draw(st.lists(st.integers(0, len(text) - 1), max_size=2)):
        text[position] = draw(LINES | NUMBERS)
    shown = text[: draw(st.integers(0, len(text)) | st.just(len(text)))]
    written = "".join(line + draw(ENDS) for line in shown)
    # The protocol strips its lines.
    return written.rstrip(" ")


def test_a_file_is_accepted_and_understood_as_kafka_does(epoch_oracle: JavaProgram, quick_dir: Path) -> None:
    cache = OurCache(quick_dir / "ours")
    tried = 0

    @seed(TEXTS.seed)
    @settings(max_examples=TEXTS.count, suppress_health_check=list(HealthCheck), database=None)
    @given(texts())
    def compare(text: str) -> None:
        nonlocal tried
        tried += 1
        script = ["reset", f"writeFile {text}", "crash"]
        ours = [cache.answer(line) for line in script]
        kafkas = epoch_oracle.ask(*script)
        assert ours == list(map(kind, kafkas))
        if ours[-1] == "ok":
            looks = ["entries", "fileNow"]
            assert [cache.answer(line) for line in looks] == epoch_oracle.ask(*looks)

    compare()
    TEXTS.report(tried, beside=epoch_oracle.release)


@pytest.mark.parametrize("entry", ["-1 3", "2 -3", "-1 -1"])
def test_negative_arguments_are_refused_by_both(epoch_oracle: JavaProgram, tmp_path: Path, entry: str) -> None:
    assert OurCache(tmp_path).answer(f"assign {entry}") == "ERR"
    assert epoch_oracle.ask("reset", f"assign {entry}")[1].startswith("ERR IllegalArgumentException")
