"""What is mapped is known to be in memory, or not."""

import mmap

from logstore.log.reading.page_cache import is_in_memory, load


def test_pages_that_were_never_touched_are_not_in_memory_until_they_are_loaded() -> None:
    with mmap.mmap(-1, 64 * mmap.PAGESIZE) as mapping:
        mapping.madvise(mmap.MADV_NOHUGEPAGE)
        view = memoryview(mapping)
        middle = view[3 * mmap.PAGESIZE + 7 : 9 * mmap.PAGESIZE + 1]
        assert not is_in_memory(middle)
        mapping[4 * mmap.PAGESIZE] = 1
        assert is_in_memory(view[4 * mmap.PAGESIZE + 100 : 4 * mmap.PAGESIZE + 200])
        assert not is_in_memory(middle)
        for start in range(3 * mmap.PAGESIZE, 10 * mmap.PAGESIZE, mmap.PAGESIZE):
            mapping[start] = 1
        assert is_in_memory(middle)
        assert not is_in_memory(view)
        load(view)
        view.release()
        middle.release()


def test_bytes_of_the_process_are_in_memory() -> None:
    assert is_in_memory(memoryview(b"some bytes"))
    assert is_in_memory(memoryview(b""))
