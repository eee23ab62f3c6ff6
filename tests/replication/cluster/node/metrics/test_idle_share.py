"""How much of a processor a broker leaves unused."""

from replication.cluster.node.metrics.idle_share import IdleShare


class Machine:
    """A clock, and what a process has used."""

    def __init__(self) -> None:
        self.now = self.used = 0.0

    def run(self, seconds: float, share: float) -> None:
        self.now += seconds
        self.used += seconds * share


def test_it_is_told_since_it_was_asked_for_about_a_minute_ago() -> None:
    machine = Machine()
    idle = IdleShare(lambda: machine.used, lambda: machine.now)
    machine.run(10, 1.0)
    assert idle.take() == 0
    machine.run(30, 0.0)
    assert idle.take() == 0.75
    for _ in range(3):
        machine.run(30, 0.5)
        idle.take()
    machine.run(30, 0.5)
    assert idle.take() == 0.5


def test_more_than_one_core_is_no_less_than_nothing_left() -> None:
    machine = Machine()
    idle = IdleShare(lambda: machine.used, lambda: machine.now)
    assert idle.take() == 1
    machine.run(10, 3.0)
    assert idle.take() == 0
