"""A broker that is alone counts what recovery has cut off as it started: nobody else has it."""

from pathlib import Path

from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from tests.replication.standalone.alone import alone
from tests.replication.standalone.clients import produce, read

RECORDS = 3


def test_a_damaged_batch_and_all_behind_it(tmp_path: Path) -> None:
    with alone(tmp_path) as broker:
        bootstrap = str(broker.local.address)
        for number in range(RECORDS):
            assert produce(bootstrap, "solo", [b"%d" % number]) == []
    (tmp_path / CLEAN_SHUTDOWN_NAME).unlink()
    path = tmp_path / "solo-0" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with alone(tmp_path) as broker:
        counts = broker.local.event_counts
        assert (counts.recovery_truncations, counts.records_truncated_by_recovery) == (1, 1)
        assert counts.recovery_truncations_below_high_watermark == 1
        assert len(read(str(broker.local.address), "solo")) == RECORDS - 1
