"""Batches as producers send them, sound and broken, at random."""

import gzip
import random
import time
from typing import Any

from logstore.batch.compression.codec import Codec, compress
from tests.logstore.batches import CONTROL, LOG_APPEND_TIME, batch, record

DAY_MS = 86_400_000


class RandomBatches:
    """Most are sound; a few idempotent producers go on where they were, or do not.

    Left out is what Kafka answers by accident: where the records are null it never answers; a producer id below -1 is
    none; and of compressed records that end too soon it says INVALID_RECORD or UNKNOWN_SERVER_ERROR as the codec's
    library has it.
    """

    def __init__(self, rng: random.Random, *, transactional: float = 0.0) -> None:
        self._rng = rng
        self._transactional = transactional
        self._next: dict[tuple[int, int], int] = {}

    def any(self) -> bytes:
        """Return what is sent for one partition."""
        rng = self._rng
        chance = rng.random()
        if chance < 0.6:
            return self.sound()
        if chance < 0.75:
            return self._lying()
        if chance < 0.9:
            return self._damaged(self.sound())
        return rng.choice([b"", self.sound() + self.sound(), self.sound() + b"rest", self.sound()[:-1], self._short()])

    def sound(self, **header: Any) -> bytes:
        """Return a batch that nothing is wrong with, but perhaps for one partition."""
        rng = self._rng
        count = rng.randrange(1, 5)
        now = int(time.time() * 1_000)
        base = rng.choice([now, now, now - DAY_MS, now + DAY_MS])
        deltas = [rng.choice([0, 0, each, -DAY_MS]) for each in range(count)]
        keys = [rng.choice([b"k", b"key", None]) for _ in range(count)] if rng.random() < 0.4 else [b"k"] * count
        records = [
            record(offset_delta=each, timestamp_delta=deltas[each], key=keys[each], value=b"v" * rng.choice([0, 9, 90]))
            for each in range(count)
        ]
        codec = rng.choice([Codec.NONE, Codec.NONE, *Codec])
        section = b"".join(records)
        fields = {
            "section": bytes(compress(codec, section)) if codec else section,
            "attributes": int(codec),
            "record_count": count,
            "last_offset_delta": count - 1,
            "base_timestamp": base,
            "max_timestamp": base + max(deltas),
        }
        return batch(**{**fields, **self._producer(count), **header})

    def _producer(self, count: int) -> dict[str, int]:
        rng = self._rng
        if rng.random() < 0.5:
            return {}
        producer_id, epoch = rng.randrange(1, 4), rng.choice([0, 0, 0, 1, 2])
        expected = self._next.get((producer_id, epoch), 0)
        sequence = rng.choice([expected, expected, expected, max(0, expected - count), expected + 1, 0, 2**31 - 1])
        self._next[producer_id, epoch] = (sequence + count) % 2**31
        return {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}

    def _lying(self) -> bytes:
        rng = self._rng
        lies: list[dict[str, Any]] = [
            {"base_offset": rng.choice([1, 7, 2**40])},
            {"magic": rng.choice([0, 1, 3, 127])},
            {"attributes": rng.choice([CONTROL, LOG_APPEND_TIME, 0x40, 5, 6, 7, 0x80])},
            {"last_offset_delta": rng.choice([-1, 0, 1, 100, 2**31 - 1])},
            {"record_count": rng.choice([-1, 0, 1, 7, 2**31 - 1])},
            {"max_timestamp": rng.choice([-1, 0, 2**60])},
            {"producer_id": 5, "producer_epoch": 0, "base_sequence": rng.choice([-1, -2, 0])},
            {"length": rng.choice([0, 13, 14, 30, 38, 39, 48, 49, 50, 2**30, 2**31 - 1, -1])},
            {"crc": 1},
            {"leader_epoch": rng.choice([-1, 9])},
            {"section": rng.choice([b"\x00", bytes(30), gzip.compress(b"no records")])},
        ]
        return self.sound(**rng.choice(lies))

    def _short(self) -> bytes:
        size = self._rng.randrange(26, 62)
        return self.sound(length=size - 12)[:size]

    def _damaged(self, data: bytes) -> bytes:
        damaged = bytearray(data)
        for _ in range(self._rng.randrange(1, 3)):
            damaged[self._rng.randrange(len(damaged))] = self._rng.randrange(256)
        return bytes(damaged)
