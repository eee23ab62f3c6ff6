"""Blocks of memory are used again, by one user at a time."""

from logstore.spare_memory import SpareMemory


def test_a_block_that_was_given_back_is_the_next_and_others_are_new() -> None:
    memory = SpareMemory(10, kept=2)
    first, second = memory.take(), memory.take()
    assert first is not second
    assert len(first) == 10
    memory.give(first)
    assert len(memory) == 1
    assert memory.take() is first
    assert len(memory) == 0


def test_no_more_blocks_are_kept_than_it_says() -> None:
    memory = SpareMemory(10, kept=2)
    blocks = [memory.take() for _ in range(3)]
    for block in blocks:
        memory.give(block)
    assert len(memory) == 2
    assert memory.take() is blocks[2]
