"""A finding as text: what happened, step by step, and the brokers after each."""

from collections.abc import Iterable

from tests.replication.cluster_model.cluster import Cluster, Successor, What
from tests.replication.cluster_model.node import Node
from tests.replication.cluster_model.violations import Violation

_WIDTH = 50


def rendered(trace: Iterable[Successor], violation: Violation | None) -> str:
    """Return what led to a violation; a record is its epoch, primed where another has that and offset."""
    lines = [f"{number:2}  {_said(each):{_WIDTH}}  {_shown(each.cluster)}" for number, each in enumerate(trace, 1)]
    end = "" if violation is None else f"    {violation.kind}: {violation.what}"
    return "\n".join([*lines, end, ""])


def _said(successor: Successor) -> str:
    what, number, detail = successor.event
    lost = f" and loses {detail} of its log" if what is What.CRASHES and detail else ""
    return f"{number} {what}{lost}"


def _shown(cluster: Cluster) -> str:
    partition = cluster.metadata.partition
    isr, elr = ("".join(map(str, each)) for each in (partition.isr, partition.elr))
    word = f"epoch {partition.leader_epoch} leader {partition.leader} isr {isr or '-'}{f' elr {elr}' if elr else ''}"
    nodes = (f"{number}{_role(node)} {_log(node)}" for number, node in enumerate(cluster.nodes))
    return "   ".join([*nodes, word])


def _role(node: Node) -> str:
    if not node.is_up:
        return "-"
    if node.led is None:
        return "?" if node.replica.following is None else f":{node.replica.epoch}"
    return f"*{node.led.leader_epoch} {''.join(map(str, sorted(node.led.maximal_isr)))}"


def _log(node: Node) -> str:
    records = " ".join(map(str, node.replica.log)) or "-"
    return f"[{records}]{f' HW {node.replica.high_watermark}' if node.replica.high_watermark else ''}"
