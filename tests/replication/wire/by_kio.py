"""Our messages beside kio: what it reads of the bytes that we write, and what we read of those that it writes."""

import io
from typing import Any

from kio.serial import entity_reader, entity_writer

from replication.wire.encoding.kio_messages import request_class, response_class
from replication.wire.messages.api import MessageForm


def kio_bytes(payload: Any) -> bytes:
    """Return what kio writes of a message of its own."""
    message = io.BytesIO()
    entity_writer(type(payload))(message, payload)
    return message.getvalue()


def kio_reading(kind: Any, data: bytes) -> Any:
    """Return what kio reads of a whole message."""
    payload, size = entity_reader(kind)(data, 0)
    assert size == len(data)
    return payload


def sent_request(form: MessageForm, request: Any, api_key: int, version: int) -> Any:
    """Return a request of ours as kio reads it."""
    return kio_reading(request_class(api_key, version), form.write(request, version))


def sent_response(form: MessageForm, response: Any, api_key: int, version: int) -> Any:
    """Return an answer of ours as kio reads it."""
    return kio_reading(response_class(api_key, version), form.write(response, version))


def received(form: MessageForm, payload: Any) -> Any:
    """Return what we read of a message of kio's."""
    return form.read(kio_bytes(payload), payload.__version__)
