"""Which ids no log directory can have, as Kafka's own class says."""

from uuid import UUID

import pytest

from logstore.errors import CorruptMetadataError
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import format_uuid
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

NUMBERS = [0, 1, 2, 99, 100, 101, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 1 << 127, (1 << 128) - 1]


def test_reserved_ids_are_refused_with_their_reason(release: KafkaRelease) -> None:
    ids = [format_uuid(UUID(int=number)) for number in NUMBERS]
    with JavaProgram(release, "BatchOracle") as kafka:
        answers = kafka.ask(*(f"reserved {each}" for each in ids))
    assert set(answers) == {"true", "false"}
    for each, answer in zip(ids, answers, strict=True):
        content = f"version=1\ncluster.id=c\nnode.id=1\ndirectory.id={each}\n".encode()
        if answer == "false":
            assert MetaProperties.parse(content).directory_id == each
            continue
        with pytest.raises(CorruptMetadataError, match=f"directory.id is '{each}', which is reserved"):
            MetaProperties.parse(content)
