"""Listeners of a broker's properties at random, of which about half make sense."""

import random
from typing import Final

_NAMES: Final = ("PLAINTEXT", "SSL", "INSIDE", "OUTSIDE", "inside", "B-x.y")
_HOSTS: Final = (*(("a", "b.example", "", "127.0.0.1", "127.0.0.2", "[::1]") * 3), "0.0.0.0")  # noqa: S104  only read
_PORTS: Final = (0, *range(9_092, 9_110))
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", "plaintext")
_CONTROLLERS: Final = (*("CONTROLLER",) * 9, "CONTROLLER,BACKUP", "CONTROLLER,CONTROLLER", "SSL")


class RandomListeners:
    """Draws properties; each is left out now and then."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def any(self) -> dict[str, str]:
        """Return properties of listeners by name."""
        rng = self._rng
        named = rng.sample(_NAMES, rng.randint(1, 3))
        if self._sometimes(0.1):
            named.append(rng.choice((*named, "CONTROLLER")))
        given = {"controller.listener.names": rng.choice(_CONTROLLERS)}
        if self._sometimes(0.95):
            given["listeners"] = self._entries(named)
        if self._sometimes(0.5):
            others = [*named, "CONTROLLER", rng.choice(_NAMES)]
            told = others[: rng.randint(1, len(others))] if self._sometimes(0.3) else named
            given["advertised.listeners"] = self._entries(told)
        if self._sometimes(0.9):
            mapped = [*_NAMES[:-2], "B-X.Y", "CONTROLLER", "BACKUP"]
            if self._sometimes(0.1):
                mapped.remove(rng.choice(mapped))
            protocols = [f"{name}:{rng.choice(_PROTOCOLS)}" for name in mapped]
            if self._sometimes(0.05):
                protocols.append("INSIDE:GSSAPI")
            given["listener.security.protocol.map"] = rng.choice((",", ", ")).join(protocols)
        if self._sometimes(0.9):
            given["inter.broker.listener.name"] = rng.choice((*named * 5, rng.choice(_NAMES), ""))
        if self._sometimes(0.05):
            given["security.inter.broker.protocol"] = rng.choice((*_PROTOCOLS, "NONE"))
        return given

    def _entries(self, names: list[str]) -> str:
        rng = self._rng
        ports = (
            rng.sample(_PORTS, len(names)) if self._sometimes(0.8) else [rng.choice((0, 9_092, 9_093)) for _ in names]
        )
        entries = [f"{name}://{rng.choice(_HOSTS)}:{port}" for name, port in zip(names, ports, strict=True)]
        if self._sometimes(0.05):
            entries.append(rng.choice(("", "PLAINTEXT", "a:1", "PLAINTEXT://a", "PLAINTEXT://a:1/", "://a:1")))
        return rng.choice((",", ", ")).join(entries)

    def _sometimes(self, chance: float) -> bool:
        return self._rng.random() < chance
