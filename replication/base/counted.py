"""How many there are of something, in words."""


def counted(number: int, one: str, several: str = "") -> str:
    """Write how many there are; `several` where that is not `one` with an s.

    >>> counted(1, "record"), counted(1_000, "record"), counted(2, "batch", "batches")
    ('1 record', '1,000 records', '2 batches')
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"
