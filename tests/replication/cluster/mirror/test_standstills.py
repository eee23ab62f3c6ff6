"""What a mirror waits for is told once, and only when it lasts."""

from replication.cluster.mirror.standstills import Standstills


def test_what_lasts_is_told_once() -> None:
    standstills = Standstills[str](5_000)
    looks = [standstills.due({"a": "no leader"}, now) for now in (0, 4_999, 5_000, 9_000)]
    assert looks == [[], [], ["a"], []]


def test_what_passes_is_not_told() -> None:
    standstills = Standstills[str](5_000)
    assert standstills.due({"a": "no leader"}, 0) == []
    assert standstills.due({}, 3_000) == []
    assert standstills.due({"a": "no leader"}, 6_000) == []


def test_what_comes_again_is_told_again() -> None:
    standstills = Standstills[str](5_000)
    for begun in (0, 20_000):
        assert standstills.due({"a": "no leader", "b": "no leader"}, begun) == []
        assert standstills.due({"a": "no leader"}, begun + 5_000) == ["a"]
        assert standstills.due({}, begun + 6_000) == []
