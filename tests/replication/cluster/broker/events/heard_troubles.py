"""What is told of trouble, as few words each."""

from replication.cluster.broker.events.trouble_events import TroubleBegan, TroubleEvent


class HeardTroubles(list[str]):
    """Keeps what it is told: who is in trouble, and whose trouble is over."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: list[str] = []

    def __call__(self, event: TroubleEvent) -> None:
        if isinstance(event, TroubleBegan):
            self.reasons.append(event.why)
        what = event.kind.value if event.peer is None else f"{event.kind.value} {event.peer}"
        self.append(what if isinstance(event, TroubleBegan) else f"{what} over")
