"""A check's finding as text: what happened, step by step, and the logs after each."""

from replication.wire.error_code import ErrorCode
from tests.replication.cluster.fetcher.model.checker import Verdict
from tests.replication.cluster.fetcher.model.cluster import NAMES, Cluster
from tests.replication.cluster.fetcher.model.model import Event, Successor
from tests.replication.cluster.fetcher.model.replica import Replica

_WIDTH = 44


def rendered(verdict: Verdict) -> str:
    """Return a finding as text; a record is shown as its epoch, with a prime where another has offset and epoch."""
    if verdict.violation is None:
        return f"{verdict}\n"
    lines = [_line(number, successor) for number, successor in enumerate(verdict.trace, 1)]
    return "\n".join([str(verdict), *lines, f"    {verdict.violation.kind}: {verdict.violation.what}", ""])


def _line(number: int, successor: Successor) -> str:
    said = f"{number:2}  {_said(successor.event)}"
    return f"{said:{_WIDTH}}  {_logs(successor.cluster)}"


def _said(event: Event) -> str:
    who = NAMES[event.replica]
    match event.what:
        case "follows" | "leads":
            return f"{who} hears that it {event.what} in epoch {event.detail}"
        case "crashes":
            lost = f" and loses {event.detail} of its log" if event.detail else " and starts again"
            return f"{who} crashes{lost}"
        case "is refused":
            return f"{who} asks, and is refused: {ErrorCode(event.detail).name}"
        case "fetched late":
            return f"a late fetch of {who} arrives"
        case what if what.startswith("is elected"):
            return f"{who} {what.replace('elected', f'elected in epoch {event.detail}', 1)}"
    return f"{who} {event.what}"


def _logs(cluster: Cluster) -> str:
    return "   ".join(
        f"{name}{_role(replica)} {_log(replica)}" for name, replica in zip(NAMES, cluster.replicas, strict=True)
    )


def _role(replica: Replica) -> str:
    return "*" if replica.leads else ":" if replica.following is not None else "?"


def _log(replica: Replica) -> str:
    records = " ".join(map(str, replica.log)) or "-"
    return f"[{records}]{f' HW {replica.high_watermark}' if replica.high_watermark else ''}"
