"""The stories by which Kafka's truncation grew, played by each generation of the protocol.

A story is told once, of replicas of the model (`tests.replication.cluster.fetcher.model`), whose followers decide by
`replication.cluster.fetcher.decisions.fetch_state_machine`. `python -m tests.replication.cluster.fetcher.scenarios`
writes their outcomes into docs/truncation.md anew.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from textwrap import fill
from typing import Final, NamedTuple

from epoch import UNDEFINED_END_OFFSET, TruncationProtocol
from replication.cluster.fetcher.decisions.fetch_rules import FetchRules
from replication.wire.error_code import ErrorCode
from tests.data.replicas import PROJECT
from tests.replication.cluster.fetcher.model import follower, leader
from tests.replication.cluster.fetcher.model.replica import Answer, Log, Record, Replica

PAGE: Final = PROJECT / "docs/truncation.md"
BEGIN: Final = "<!-- scenarios: begin -->\n"
END: Final = "<!-- scenarios: end -->\n"


class Protocol(NamedTuple):
    """A generation of the protocol."""

    name: str
    rules: FetchRules
    fences: bool = False
    """Leaders refuse who believes in another epoch than theirs."""


OLDER: Final = (
    Protocol("high watermark", FetchRules(TruncationProtocol.HIGH_WATERMARK, truncate_on_fetch=False, back_off_ms=0)),
    Protocol("one question", FetchRules(TruncationProtocol.KIP_101, truncate_on_fetch=False, back_off_ms=0)),
)
CURRENT: Final = (
    Protocol("rounds", FetchRules(truncate_on_fetch=False, back_off_ms=0), fences=True),
    Protocol("on fetch", FetchRules(back_off_ms=0), fences=True),
)


@dataclass
class Stage:
    """Replicas by name, who act under one protocol."""

    protocol: Protocol
    replicas: dict[str, Replica] = field(default_factory=dict)

    def begins(self, name: str, *epochs: int, high_watermark: int = 0) -> None:
        """Put a replica on the stage, whose log has a record of each of these epochs."""
        records = tuple(Record(epoch, 0) for epoch in epochs)
        self.replicas[name] = Replica().but().appended(records).committed(high_watermark)

    def leads(self, name: str, epoch: int) -> None:
        """Let a replica hear that it leads in an epoch."""
        replica = self.replicas[name]
        history = replica.history.assign(epoch, replica.end)
        self.replicas[name] = replica.but(epoch=epoch, leads_from=replica.end, following=None, history=history)

    def writes(self, name: str, count: int = 1) -> None:
        """Let a leader append records."""
        replica = self.replicas[name]
        self.replicas[name] = replica.appended((Record(replica.epoch, 0),) * count)

    def follows(self, name: str, epoch: int) -> None:
        """Let a replica hear that it follows the leader of an epoch."""
        replica = self.replicas[name]
        self.replicas[name] = follower.begin(replica, self.protocol.rules, epoch, replica.following)

    def restarts(self, name: str, *, end: int | None = None) -> None:
        """Let a replica crash and start again; its log ends at `end` if its tail was not synced."""
        replica = self.replicas[name]
        kept = replica.truncated(replica.end if end is None else end)
        self.replicas[name] = kept.but(epoch=-1, leads_from=-1, following=None)

    def asks(self, name: str, broker: str, times: int = 1) -> None:
        """Let a follower ask a broker what it has to ask, and take the answer; several times."""
        for _ in range(times):
            replica, asked = self.replicas[name], self.replicas[broker]
            question = follower.question_of(replica, self.protocol.rules)
            assert question is not None
            refusal = leader.refusal(asked, replica.epoch, fences=self.protocol.fences)
            refused = refusal is not ErrorCode.NONE
            answer = Answer(refusal, UNDEFINED_END_OFFSET) if refused else leader.answer(asked, question, 100)
            self.replicas[name] = follower.take(replica, self.protocol.rules, answer)

    def log(self, name: str) -> str:
        """Return a log as text: the epoch of each record."""
        return " ".join(map(str, self.replicas[name].log)) or "empty"

    def outcome(self, name: str, leads: str) -> str:
        """Say whether a follower's log is its leader's, the beginning of it, or neither."""
        own, leaders = self.replicas[name].log, self.replicas[leads].log
        if own != leaders[: len(own)]:
            return "forked"
        return "the same" if own == leaders else "behind"

    def loses(self, leads: str, acked: Log) -> str:
        """Say whether a leader lacks a record that was acknowledged."""
        return "kept" if self.replicas[leads].log[: len(acked)] == acked else "lost"


class Scenario(NamedTuple):
    """A story, and what comes of it."""

    title: str
    told: str
    columns: tuple[str, ...]
    play: Callable[[Protocol], tuple[str, ...]]
    fails: tuple[str, ...]
    """The protocols by which it ends badly."""


def fast_restart(protocol: Protocol) -> tuple[str, ...]:
    """KIP-101, scenario 1."""
    stage = Stage(protocol)
    stage.begins("A", 0, 0, high_watermark=2)
    acked = stage.replicas["A"].log
    stage.leads("A", 0)
    stage.begins("B", 0, 0, high_watermark=1)
    stage.restarts("B")
    stage.follows("B", 0)
    if protocol.name != "high watermark":
        stage.asks("B", "A")
    restarted = stage.log("B")
    stage.leads("B", 1)
    return restarted, stage.loses("B", acked)


def both_restart(protocol: Protocol) -> tuple[str, ...]:
    """KIP-101, scenario 2."""
    stage = Stage(protocol)
    stage.begins("A", 0, 0, high_watermark=2)
    stage.begins("B", 0, 0, high_watermark=1)
    stage.restarts("B", end=1)
    stage.leads("B", 1)
    stage.writes("B")
    stage.follows("A", 1)
    stage.asks("A", "B", times=3)
    return stage.log("A"), stage.log("B"), stage.outcome("A", "B")


def fast_leader_changes(protocol: Protocol) -> tuple[str, ...]:
    """KIP-279: each led without the other."""
    stage = Stage(protocol)
    stage.begins("A", 0, 0, 0, high_watermark=1)
    stage.begins("B", 0, high_watermark=1)
    stage.leads("B", 1)
    stage.writes("B")
    stage.replicas["B"] = stage.replicas["B"].committed(2)
    stage.leads("A", 2)
    stage.writes("A")
    stage.follows("B", 2)
    stage.asks("B", "A", times=4)
    return stage.log("B"), stage.log("A"), stage.outcome("B", "A")


def stale_leader(protocol: Protocol) -> tuple[str, ...]:
    """KIP-320: a follower asks a leader that has not yet heard that it leads anew."""
    stage = Stage(protocol)
    stage.begins("A", 0, 0, high_watermark=1)
    stage.leads("A", 0)
    stage.begins("B", 0, high_watermark=1)
    stage.begins("C", 0, high_watermark=1)
    stage.leads("B", 1)
    stage.follows("C", 2)
    stage.asks("C", "A", times=3)
    stage.follows("A", 1)
    stage.asks("A", "B", times=3)
    stage.leads("A", 2)
    stage.writes("A")
    stage.asks("C", "A", times=3)
    return stage.log("C"), stage.log("A"), stage.outcome("C", "A")


def stale_mirror(protocol: Protocol) -> tuple[str, ...]:
    """KIP-320: a consumer had read what an unclean election took away."""
    stage = Stage(protocol)
    stage.begins("mirror", 0, 0, 0, high_watermark=3)
    stage.begins("B", 0, 0, high_watermark=2)
    stage.leads("B", 1)
    stage.writes("B", 2)
    stage.follows("mirror", 1)
    stage.asks("mirror", "B", times=3)
    return stage.log("mirror"), stage.log("B"), stage.outcome("mirror", "B")


SCENARIOS: Final = (
    Scenario(
        "A fast restart (KIP-101)",
        "A leads and has acknowledged two records. B has both, but its high watermark covers only the first when it "
        "restarts. Then A fails, and B leads.",
        ("B's log after its restart", "the second record"),
        fast_restart,
        ("high watermark",),
    ),
    Scenario(
        "Two restarts (KIP-101)",
        "A and B lose power, and B loses its last record with it. B is back first, leads in epoch 1 and writes another"
        " in its place. Then A follows B.",
        ("A's log", "B's log", "A's is"),
        both_restart,
        ("high watermark",),
    ),
    Scenario(
        "Leaders in quick turns (KIP-279)",
        "A has written three records in epoch 0, of which B has one. B leads in epoch 1, after an unclean election,"
        " and A again in epoch 2, before either has followed the other. Then B follows A.",
        ("B's log", "A's log", "B's is"),
        fast_leader_changes,
        ("high watermark", "one question"),
    ),
    Scenario(
        "A leader that does not know yet (KIP-320)",
        "A leads in epoch 0, B was elected for epoch 1, and A again for epoch 2. C hears of epoch 2 before A does, and"
        " asks A, which still believes in epoch 0. Then A hears of epoch 1, cuts what B does not have, hears of"
        " epoch 2, and writes.",
        ("C's log", "A's log", "C's is"),
        stale_leader,
        ("high watermark", "one question"),
    ),
    Scenario(
        "A mirror that has read too much (KIP-320)",
        "A mirror has copied three records, of which B has two. B leads in epoch 1 after an unclean election, and"
        " writes two more.",
        ("the mirror's log", "B's log", "the mirror's is"),
        stale_mirror,
        ("high watermark",),
    ),
)


def section() -> str:
    """Return the outcomes of all stories under all protocols, as a part of the page."""
    return "\n".join(_told(scenario) for scenario in SCENARIOS)


def _told(scenario: Scenario) -> str:
    heads = ("protocol", *scenario.columns)
    rows = [(protocol.name, *scenario.play(protocol)) for protocol in (*OLDER, *CURRENT)]
    table = [heads, ("---",) * len(heads), *rows]
    lines = ["| " + " | ".join(row) + " |" for row in table]
    lines[1] = "|" + "---|" * len(heads)
    return "\n".join([f"### {scenario.title}", "", fill(scenario.told, 118), "", *lines, ""])


def page_with_section(page: str) -> str:
    """Return the page with its section written anew."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{section()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with_section(PAGE.read_text()))
