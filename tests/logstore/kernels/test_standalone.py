"""What the kernels of `verify` tell without numba is what they tell with it."""

import os
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator

import pytest

from logstore.warming.warm import warm
from tests.data.replicas import PROJECT
from tests.logstore.batches import log
from tests.logstore.kernels.sizes import JIT
from tests.logstore.kernels.test_fuzz import damage, pieces
from tests.logstore.kernels.told_by_kernels import Case, told

CASES = 400


def cases() -> Iterator[Case]:
    """Sound logs, damaged ones, and indexes of which most do not agree."""
    chance = random.Random(16)
    sound = pieces()
    for number in range(CASES):
        data = chance.choice(sound) if number % 4 == 0 else damage(chance, sound)
        yield Case(data, chance.randbytes(chance.choice([0, 8, 16, 17])), chance.randbytes(chance.choice([0, 12])), 3)
    one, size = log(1), len(log(1))
    yield Case(log(3), (5).to_bytes(4) + size.to_bytes(4), b"", 0)
    yield Case(log(3), (5).to_bytes(4) + (size + 1).to_bytes(4), bytes(12), 0)
    yield Case(one, b"", b"", 0)
    yield Case(b"", b"", b"", 0)


@pytest.mark.skipif(not JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_without_numba_they_tell_the_same() -> None:
    warm()
    given = list(cases())
    program = [sys.executable, "-m", "tests.logstore.kernels.told_by_kernels"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        program, input=pickle.dumps(given), stdout=subprocess.PIPE, check=True, cwd=PROJECT, env=environment
    )
    answers, with_numba = pickle.loads(done.stdout)  # noqa: S301  our own program wrote it
    assert not with_numba
    assert answers == list(map(told, given))
    last = [answer[-2:] for answer in answers]
    assert [True, True] in last
    assert {False, True} <= {each for pair in last for each in pair}
    assert sum(len(answer[3]) for answer in answers) > CASES // 10, "faults are found"
