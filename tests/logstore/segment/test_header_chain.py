"""Header chains: what a file says, and what is found by it."""

from pathlib import Path

import pytest

from epoch.filesystem import REAL
from logstore.segment.batch_heads import BLOCK, HEAD_SIZE
from logstore.segment.header_chain import SLOT, ChainStart, HeaderChain, follow
from logstore.segment.live_chain import LiveChain, cut_chain
from logstore.segment.segment_file import SegmentFile
from tests.logstore.batches import batch, record

START = ChainStart(0, 7, 8, is_anew=False)


def batches(count: int, *, size: int = 1_000, first: int = 0) -> list[bytes]:
    return [batch(records=[record(value=b"%0*d" % (size, each))], base_offset=each) for each in range(first, count)]


def chain_of(data: bytes, start: ChainStart = START, *, block: int = BLOCK) -> HeaderChain:
    links = tuple(follow(memoryview(data), start.link, len(data), begin=0, block=block))
    return HeaderChain(start, links, tuple(SLOT * number for number in range(1, len(links) + 1)))


def encoded(chain: HeaderChain) -> bytes:
    return b"".join([chain.start.encode(), *(link.encode() for link in chain.links)])


def test_a_link_ends_with_the_batch_that_completes_a_block() -> None:
    data = b"".join(batches(6_000))
    links = chain_of(data).links
    positions = [link.position for link in links]
    size = len(data) // 6_000
    assert positions[-1] == len(data)
    assert all(
        0 <= after - before - BLOCK < size for before, after in zip([0, *positions], positions[:-1], strict=False)
    )
    assert [link.offset for link in links] == [position // size - 1 for position in positions]


def test_what_is_written_is_read() -> None:
    chain = chain_of(b"".join(batches(9)), block=2_000)
    assert len(chain.links) > 3
    assert HeaderChain.decode(encoded(chain)) == chain
    last = HeaderChain.decode(encoded(chain), most=2)
    assert last is not None
    assert last.links == chain.links[-2:]
    assert last.end == chain.end


@pytest.mark.parametrize("log", [6, 7])
@pytest.mark.parametrize("previous", [8, 9])
def test_digests_depend_on_the_log_and_on_the_segment_before(log: int, previous: int) -> None:
    data = b"".join(batches(2))
    same = (log, previous) == (START.log, START.previous)
    other = chain_of(data, START._replace(log=log, previous=previous))
    assert (other.end.digest == chain_of(data).end.digest) is same


def test_every_flipped_bit_of_a_head_is_found_in_its_block() -> None:
    parts = batches(6)
    data, chain = b"".join(parts), chain_of(b"".join(parts), block=2_500)
    size = len(parts[0])
    assert chain.first_mismatch(memoryview(data)) is None
    silent = []
    for number, bit in ((number, bit) for number in range(6) for bit in range(HEAD_SIZE * 8)):
        altered = bytearray(data)
        altered[number * size + bit // 8] ^= 1 << bit % 8
        found = chain.first_mismatch(memoryview(altered))
        if found is None:
            silent.append((number, bit // 8))
        else:
            link, before = found
            assert before.position <= number * size < link.position
    # By another length other batches follow, or none that is whole.
    assert all(8 <= byte < 12 for _, byte in silent)


def test_batches_that_changed_places_are_found() -> None:
    one, two, three = batches(3)
    chain = chain_of(one + two + three)
    assert chain.first_mismatch(memoryview(two + one + three)) is not None
    assert chain.first_mismatch(memoryview(one + three + three)) is not None


def test_links_that_are_not_whole_are_passed_over() -> None:
    data = b"".join(batches(9))
    chain = chain_of(data, block=2_000)
    written = bytearray(encoded(chain))
    written[2 * SLOT + 3] ^= 1
    found = HeaderChain.decode(bytes(written))
    assert found is not None
    assert found.links == (chain.links[0], *chain.links[2:])
    assert found.first_mismatch(memoryview(data)) is None


def test_nobody_knows_what_a_file_says_whose_beginning_is_not_whole() -> None:
    written = encoded(chain_of(b"".join(batches(9))))
    for length in range(SLOT):
        assert HeaderChain.decode(written[:length]) is None
    for at in range(SLOT):
        assert HeaderChain.decode(written[:at] + bytes([written[at] ^ 1]) + written[at + 1 :]) is None
    assert HeaderChain.decode(bytes(3 * SLOT)) is None


class GrowingSegment:
    """A segment's file, and its chain."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / f"{0:020d}.chain"
        self.file = SegmentFile(directory / f"{0:020d}.log")
        self.file.create()
        self.chain = LiveChain(self.path, REAL, START)

    def append(self, data: bytes) -> None:
        self.file.append(data)

    def grow(self, *, least: int = 1) -> bool:
        growth = self.chain.grow(self.file, self.file.size, least=least)
        if growth is not None:
            self.chain.write(growth)
        return growth is not None

    def open_again(self) -> None:
        self.chain = LiveChain.open(self.path, REAL, 0, self.file.size, lambda: START)

    def read(self) -> HeaderChain:
        found = HeaderChain.read(self.path)
        assert found is not None
        return found


@pytest.fixture
def growing(tmp_path: Path) -> GrowingSegment:
    return GrowingSegment(tmp_path)


@pytest.mark.parametrize("step", [1, 7, 300, 1_000])
@pytest.mark.parametrize("is_opened_again", [False, True])
def test_a_chain_that_grows_is_the_one_of_the_whole_segment(
    growing: GrowingSegment, step: int, *, is_opened_again: bool
) -> None:
    parts = batches(4_000)
    for first in range(0, len(parts), step):
        growing.append(b"".join(parts[first : first + step]))
        assert growing.grow()
        if is_opened_again and first % 7 == 0:
            growing.open_again()
    assert growing.read() == chain_of(b"".join(parts))


def test_a_chain_does_not_grow_by_less_than_it_should(growing: GrowingSegment) -> None:
    growing.append(batches(1)[0])
    assert not growing.grow(least=BLOCK)
    assert not growing.path.exists()
    assert growing.grow()


@pytest.mark.parametrize("kept", [0, 1, 1_500, 1_501, 3_999, 4_000])
def test_what_is_cut_is_written_anew(growing: GrowingSegment, kept: int) -> None:
    parts = batches(4_000)
    growing.append(b"".join(parts))
    growing.grow()
    size = sum(map(len, parts[:kept]))
    cut_chain(growing.path, size, REAL)
    assert growing.read().end.position <= size
    growing.file.truncate_to(size)
    others = batches(4_100, size=900, first=kept)
    growing.append(b"".join(others))
    growing.open_again()
    growing.grow()
    assert growing.read().first_mismatch(memoryview(b"".join(parts[:kept] + others))) is None
    assert growing.read().end == chain_of(b"".join(parts[:kept] + others)).end


def test_a_closed_segment_has_the_time_of_its_last_write(growing: GrowingSegment) -> None:
    growing.append(batches(1)[0])
    growing.grow()
    growing.chain.close(77)
    assert growing.read().end.modified_ns == 77
    growing.open_again()
    growing.append(batches(2)[1])
    growing.grow()
    assert growing.read().end == chain_of(b"".join(batches(2))).end
