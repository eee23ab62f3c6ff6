"""What a broker's log says of the partitions that it follows."""

import logging
from pathlib import Path

import pytest

from logstore import Log, TopicPartition
from replication.broker.replicas.logged_fetches import LoggedFetches
from replication.fetcher.fetch_observer import Cut


@pytest.mark.parametrize(("high_watermark", "level"), [(10, logging.INFO), (11, logging.WARNING)])
def test_what_is_cut_off_is_told_and_loudly_where_it_was_committed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, high_watermark: int, level: int
) -> None:
    caplog.set_level(logging.INFO)
    cut = Cut(TopicPartition("orders", 0), 10, 0, 12, high_watermark, 3, "the leader's epoch 2 ends there")
    with Log.open(tmp_path / "orders-0") as log:
        LoggedFetches().truncated(log, cut)
    (record,) = [each for each in caplog.records if "cut" in each.message]
    told = "orders-0: cut from offset 12 back to 10 under leader epoch 3: the leader's epoch 2 ends there"
    assert (record.levelno, record.message) == (level, told)
