"""Strategies for histories, and a plain model that walks lists."""

from hypothesis import strategies as st

from epoch import EndOffset, EpochHistory

EPOCHS = st.integers(0, 20)
OFFSETS = st.integers(0, 100)
ASKED_EPOCHS = st.integers(-3, 23)
ENTRIES = st.lists(st.tuples(EPOCHS, OFFSETS), max_size=12)


@st.composite
def histories(draw: st.DrawFn) -> EpochHistory:
    """Histories of any length, dense or sparse."""
    spread = draw(st.sampled_from([1, 1, 2, 1_000_000]))
    count = draw(st.integers(0, 40))
    epochs = draw(st.lists(st.integers(0, 60), min_size=count, max_size=count, unique=True))
    starts = draw(st.lists(st.integers(0, 1_000), min_size=count, max_size=count, unique=True))
    return EpochHistory(zip((epoch * spread for epoch in sorted(epochs)), sorted(starts), strict=True))


def assigned(entries: list[tuple[int, int]], epoch: int, start: int) -> list[tuple[int, int]]:
    """The model of assign."""
    if entries and entries[-1][0] == epoch and start >= entries[-1][1]:
        return entries
    kept = list(entries)
    while kept and (kept[-1][0] >= epoch or kept[-1][1] >= start):
        kept.pop()
    return [*kept, (epoch, start)]


def end_offset(entries: list[tuple[int, int]], epoch: int, log_end_offset: int) -> EndOffset:
    """The model of end_offset_for."""
    if epoch == -1 or not entries or epoch > entries[-1][0]:
        return EndOffset(-1, -1)
    if epoch == entries[-1][0]:
        return EndOffset(epoch, log_end_offset)
    above = [(known, start) for known, start in entries if known > epoch]
    below = [known for known, _ in entries if known <= epoch]
    return EndOffset(below[-1] if below else epoch, above[0][1])
