"""A durable work queue on a log, for several worker processes."""

from logstore.queue.queue_item import QueueItem
from logstore.queue.queue_state import QueueCounts
from logstore.queue.work_queue import WorkQueue

__all__ = ["QueueCounts", "QueueItem", "WorkQueue"]
