"""Which places of one partition's leaders are already in the target."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from logstore.topic_partition import TopicPartition
from replication.copies.salvage.held.provenance import Provenance


@dataclass(slots=True)
class KnownPlaces:
    """Of one partition of one cluster, by leader epoch: an offset and a digest in one number, to take less memory."""

    partition: TopicPartition
    cluster_id: str | None
    _places: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))

    def __bool__(self) -> bool:
        return bool(self._places)

    def add(self, provenances: Iterable[Provenance]) -> None:
        """Add what headers say; what is from other partitions, or another cluster, is ignored."""
        for each in provenances:
            if each.is_of(self.partition, self.cluster_id):
                self._places[each.leader_epoch].add(_number(each))

    def knows(self, provenances: Iterable[Provenance]) -> bool:
        """Whether a record is there, by any of the places that it has had."""
        return any(_number(each) in self._places.get(each.leader_epoch, ()) for each in provenances)


def _number(provenance: Provenance) -> int:
    return provenance.offset << 64 | provenance.digest
