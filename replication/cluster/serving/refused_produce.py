"""Produce, as who can only be read answers it.

It has to be offered: librdkafka infers from its versions in which format a broker sends records, and fetches nothing
from one that does not offer it. Kafka 4 offers versions that it no longer answers for the same reason (KAFKA-18659).
"""

from typing import Final

from replication.wire.error_code import ErrorCode
from replication.wire.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse
from replication.wire.server.call import Call
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.served_api import ServedApi

_WHY: Final = "what is served here can only be read"


def _refuse(request: ProduceRequest, _: Call) -> ProduceResponse:
    if request.acks == 0:
        # Nothing else tells one who awaits no answer; Kafka does so for any error.
        raise HangUpError("produce", _WHY)
    refused = ProducedPartition(ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=_WHY)
    return ProduceResponse(partitions=dict.fromkeys(request.partitions, refused), topic_ids=request.topic_ids)


REFUSED_PRODUCE: Final = ServedApi(range(14), _refuse)
"""Refuses in words in the versions that Kafka 4 answers, from 3 on, and hangs up on others."""
