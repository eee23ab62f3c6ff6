"""The model's log does what the real one does for a leader."""

from pathlib import Path
from random import Random
from shutil import rmtree

from logstore import Log
from logstore.append.encoding import encode_batch
from tests.campaign import Campaign
from tests.replication.cluster.fetcher.model.leader import encoded
from tests.replication.cluster.fetcher.model.replica import Record, Replica
from tests.replication.cluster_model.memory_log import MemoryLog

CAMPAIGN = Campaign("the model's log beside the real one", full=500, share=40)
STEPS = 25


def test_the_models_log_is_as_the_real_one(tmp_path: Path) -> None:
    for number in range(CAMPAIGN.count):
        seed = f"{CAMPAIGN.seed}:{number}"
        with Log.open(tmp_path / "orders-0", replicated=True) as real:
            compare(Random(seed), real, MemoryLog(Replica()), seed)
        rmtree(tmp_path / "orders-0")
    CAMPAIGN.report(CAMPAIGN.count)


def compare(random: Random, real: Log, small: MemoryLog, seed: str) -> None:
    """Do the same to both: what a leader does, and a cut."""
    epoch = 0
    for step in range(STEPS):
        what = random.choice(("append", "append", "append", "epoch", "high watermark", "cut"))
        offset = random.randint(0, small.log_end_offset + 1)
        match what:
            case "append":
                real.append(bytes(encode_batch([b"value"])), leader_epoch=epoch)
                small.append(encoded((Record(epoch, 0),)), leader_epoch=epoch)
            case "epoch":
                epoch += random.randint(1, 2)
                for log in (real, small):
                    log.assign_epoch(epoch, small.log_end_offset)
            case "high watermark":
                assert real.advance_high_watermark(offset) == small.advance_high_watermark(offset), seed
            case "cut":
                assert real.truncate_to(offset) == small.truncate_to(offset), seed
        assert state(real) == state(small), f"{seed}, step {step}: {what}"


def state(log: Log | MemoryLog) -> tuple[object, ...]:
    entries = log.history.entries if isinstance(log, MemoryLog) else list(log.epochs.entries)
    return log.log_start_offset, log.log_end_offset, log.high_watermark, [tuple(each) for each in entries]
