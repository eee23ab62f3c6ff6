"""A short program on a log, right after an installation: nothing is compiled in it, and numba is not loaded."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        assert name.partition(".")[0] not in {"numba", "llvmlite"}, f"{name} is loaded"

sys.meta_path.insert(0, Refusing())

from pathlib import Path
from logstore import BatchTemplate, Codec, Log, LogConfig, LogDirectory, Record, encode_batch, encode_values

place = Path(sys.argv[1])
config = LogConfig(index_interval_bytes=100)

def records(count):
    return [Record.of(b"value %d" % number, "key") for number in range(count)]

def fill(log):
    for _ in range(50):
        log.append(records(1))
    log.append(records(100))
    log.append([b"x" * 100] * 100)
    log.append(records(100), template=BatchTemplate(codec=Codec.ZSTD))
    log.append(encode_batch(records(100)))
    log.append(encode_batch([b"x" * 200] * 100))
    log.append(encode_values([b"y" * 100] * 450, 7, batch_bytes=1 << 20))

with Log.open(place / "t-0", config) as log:
    fill(log)
    assert log.log_end_offset == 1_000
    view = log.read(0, 1 << 20)
    assert len(list(view.records())) == 1_000
    with Log.open(place / "copy-0", config) as copy:
        copy.append_batches(bytes(view.data))
        assert copy.log_end_offset == 1_000
    for offset in range(0, 1_000, 20):
        assert next(iter(log.read(offset, 1 << 14).records())).offset <= offset
    timely = next(record.offset for record in view.records() if record.timestamp >= 7)
    assert log.offset_for_timestamp(7).offset == timely
    log.flush()
    log.truncate_to(990)
    log.append_batches(encode_batch(records(10), BatchTemplate(base_offset=log.log_end_offset)))
    log.abandon()

with Log.open(place / "t-0", config) as log:  # it is recovered
    assert log.log_end_offset == 1_000
with Log.open(place / "t-0", config) as log:
    assert len(list(log.read(0, 1 << 20).records())) == 560

assert not {"numba", "llvmlite"} & set(sys.modules)
print("done")
"""


def test_small_work_neither_compiles_nor_loads_numba(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "EPOCHLOG_COMPILE": "background"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
    assert not cache.exists()
