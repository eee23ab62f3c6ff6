"""Which records were aborted, and what a consumer of committed records is given, as Kafka's rules say."""

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from logstore.batch.batch_attributes import CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.control import ControlType, EndTransactionMarker
from tests.campaign import Campaign
from tests.logstore.batches import batch, record
from tests.replication.copies.audit.spark.source.test_rows import Row, read

PLAIN = -1


@dataclass
class MadeTransactions:
    """A log in which some producers begin and end transactions, and what became of each record."""

    random: random.Random
    content: list[bytes] = field(default_factory=list)
    offset: int = 0
    open: dict[int, list[int]] = field(default_factory=dict)
    aborted: dict[int, bool | None] = field(default_factory=dict)
    """By offset; None while the transaction is open."""
    control: set[int] = field(default_factory=set)

    def make(self) -> None:
        for _ in range(self.random.randint(1, 40)):
            producer = self.random.choice([PLAIN, 1, 2, 3])
            if producer in self.open and self.random.random() < 0.5:
                self._end(producer)
            else:
                self._send(producer)

    def _send(self, producer: int) -> None:
        count = self.random.randint(1, 3)
        flags = 0 if producer == PLAIN else TRANSACTIONAL_BIT
        records = [record(offset_delta=number) for number in range(count)]
        self.content.append(
            batch(base_offset=self.offset, records=records, attributes=flags, producer_id=producer, producer_epoch=0)
        )
        for offset in range(self.offset, self.offset + count):
            self.aborted[offset] = False if producer == PLAIN else None
            if producer != PLAIN:
                self.open.setdefault(producer, []).append(offset)
        self.offset += count

    def _end(self, producer: int) -> None:
        kind = self.random.choice([ControlType.ABORT, ControlType.COMMIT])
        marker = EndTransactionMarker(kind, 0, 0).record(1_000)
        self.content.append(
            batch(
                base_offset=self.offset,
                records=[record(key=marker.key, value=marker.value)],
                attributes=TRANSACTIONAL_BIT | CONTROL_BIT,
                producer_id=producer,
                producer_epoch=0,
            )
        )
        for offset in self.open.pop(producer):
            self.aborted[offset] = kind is ControlType.ABORT
        self.aborted[self.offset] = False
        self.control.add(self.offset)
        self.offset += 1

    @property
    def last_stable_offset(self) -> int:
        return min((offsets[0] for offsets in self.open.values()), default=self.offset)

    def write(self, directory: Path) -> None:
        """Write the batches into segments that begin anywhere."""
        directory.mkdir(parents=True)
        first = 0
        while first < len(self.content):
            last = self.random.randint(first + 1, len(self.content))
            base = int.from_bytes(self.content[first][:8])
            (directory / f"{base:020d}.log").write_bytes(b"".join(self.content[first:last]))
            first = last


def test_each_transaction_ends_as_its_marker_says(tmp_path: Path) -> None:
    campaign = Campaign("spark: outcomes of random transactions", full=2_000, share=60)
    for number in range(campaign.count):
        made = MadeTransactions(random.Random(campaign.seed * 10_000 + number))
        made.make()
        made.write(tmp_path / "t-0")

        told = {row["offset"]: row["is_aborted"] for row in read(tmp_path / "t-0", taskBytes="500")}
        committed = [row["offset"] for row in read(tmp_path / "t-0", isolation="read_committed")]

        assert told == made.aborted, f"seed {number}"
        assert committed == [
            offset
            for offset, aborted in made.aborted.items()
            if aborted is False and offset < made.last_stable_offset and offset not in made.control
        ], f"seed {number}"
        shutil.rmtree(tmp_path / "t-0")
    campaign.report(campaign.count)


def aborted(rows: list[Row]) -> dict[int, bool | None]:
    return {row["offset"]: row["is_aborted"] for row in rows if row["offset"] is not None}


def test_a_transaction_whose_marker_may_be_lost_is_undecided(tmp_path: Path) -> None:
    made = MadeTransactions(random.Random(1))
    made._send(1)
    made._end(1)
    made._send(1)
    made._end(1)
    marker = bytearray(made.content[1])
    marker[-1] ^= 1
    made.content[1] = bytes(marker)
    second = min(made.control) + 1
    made.write(tmp_path / "t-0")

    told = aborted(read(tmp_path / "t-0", mode="PERMISSIVE"))

    assert [told[offset] for offset in range(min(made.control))] == [None] * min(made.control)
    assert told[second] is made.aborted[second]
    committed = {row["offset"] for row in read(tmp_path / "t-0", isolation="read_committed", mode="DROPMALFORMED")}
    assert committed.isdisjoint(range(min(made.control)))
