"""CRC-32C: every kernel that this CPU can run, against the crc32c package."""

import os
import subprocess
import sys

import crc32c as package
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epoch.compiling.kernel import COMPILES
from logstore.kernels import crc
from logstore.kernels.polynomial import CASTAGNOLI, multiply, power_of_x, reflect
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES, JIT

LENGTHS = [*range(300), 511, 512, 513, 767, 1007, 1008, 1009, 2015, 2016, 2017, 4095, 4096, 16_384]
DATA = np.random.default_rng(1).bytes(16_384)

# Without compilation the wide kernels do not run: the table kernel does, as plain Python.
KERNELS = crc.available() if JIT else {"table": crc.crc32c_table, **crc.available()}


@pytest.mark.parametrize("name", KERNELS)
def test_every_length_gives_the_package_s_checksum(name: str) -> None:
    for length in LENGTHS if JIT else [*range(0, 70, 3), 513]:
        data = guarded(DATA[:length])
        assert KERNELS[name](data, 0, length) == package.crc32c(DATA[:length]), length


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_any_part_of_the_data_gives_the_package_s_checksum(name: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, 600))
    end = data.draw(st.integers(start, 2_600 if JIT else 700))
    assert KERNELS[name](guarded(DATA[:2_600]), start, end) == package.crc32c(DATA[start:end])


def test_the_fastest_kernel_is_chosen() -> None:
    assert next(iter(crc.available().items())) == (crc.NAME, crc.crc32c)


def chosen_with(**environment: str) -> str:
    """Name the kernel that a new process chooses, and have it compute a checksum."""
    program = (
        "import numpy as np; from logstore.kernels import crc, column_scan;"
        "print(crc.NAME, crc.crc32c(np.frombuffer(b'123456789' * 400, np.uint8), 0, 3600), sep='|');"
        "column_scan.scan(np.zeros(100, np.uint8), check_crc=True)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    name, checksum = result.stdout.strip().split("|")
    assert int(checksum) == package.crc32c(b"123456789" * 400)
    return name


@pytest.mark.skipif(not COMPILES or not crc.target_features(), reason="numba does not compile for x86-64 here")
@pytest.mark.parametrize("lacking", ["vpclmulqdq", "avx512f", "sse4.2"])
def test_a_cpu_that_lacks_an_instruction_gets_a_kernel_without_it(lacking: str) -> None:
    features = crc.target_features() - {lacking}
    fitting = [name for name, (_, needs) in crc.KERNELS.items() if needs <= features]
    given_features = ",".join([*(f"+{name}" for name in sorted(features)), f"-{lacking}"])
    assert chosen_with(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES=given_features) == fitting[0]
    assert lacking not in crc.KERNELS[fitting[0]][1]


@pytest.mark.skipif(not COMPILES, reason="numba compiles nothing here")
def test_an_unknown_cpu_gets_the_table() -> None:
    assert chosen_with(NUMBA_CPU_NAME="generic") == "table"


def test_without_compilation_the_package_does_it() -> None:
    assert chosen_with(NUMBA_DISABLE_JIT="1") == "crc32c package"


@given(st.integers(0, 2_000), st.integers(0, 2_000))
def test_powers_of_x_add_their_exponents(a: int, b: int) -> None:
    assert multiply(power_of_x(a), power_of_x(b)) == power_of_x(a + b)


def test_the_polynomial_is_castagnoli_s() -> None:
    # The CRC-32C of one byte 0x80 without start value or inversion is the reflected polynomial itself.
    assert int(crc.TABLES[0, 0x80]) == reflect(CASTAGNOLI) == 0x82F63B78
