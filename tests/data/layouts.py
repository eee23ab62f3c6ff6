"""Brokers with two disks each, as a real cluster left them, and the ways in which people name them (see README.md)."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.data.replicas import HERE, unpacked

STATES = ("strimzi", "doubled")
NODES = (1, 2)
WAYS = ("pods", "volumes", "roots", "links to pods", "links to roots", "volumes of links")


def pods(state: str) -> Path:
    """The directory with `pod-1` and `pod-2`, and their `data-0/kafka-logN`. Read-only: copy what a test changes."""
    return _archive() / state


@cache
def layout_truth() -> dict[str, Any]:
    """What Kafka's consumer read, by state; what broker 1 has twice, and how it refused to start."""
    document: dict[str, Any] = json.loads((_archive() / "truth.json").read_text())
    return document


def named(way: str, state: str, place: Path) -> list[list[Path]]:
    """Name each broker in one of the `WAYS`; links are made in `place`."""
    return [_named(way, pods(state) / f"pod-{node}", place / f"broker-{node}") for node in NODES]


def _named(way: str, pod: Path, place: Path) -> list[Path]:
    roots = sorted(pod.glob("data-*/kafka-log*"))
    match way:
        case "pods":
            return [pod]
        case "volumes":
            return sorted(pod.iterdir())
        case "roots":
            return roots
        case "links to pods":
            return [_linked(place, pod)]
        case "links to roots":
            return [_linked(place / f"disk-{number}", root) for number, root in enumerate(roots)]
        case _:
            for volume in pod.iterdir():
                _linked(place / volume.name, volume)
            return [place]


def _linked(link: Path, target: Path) -> Path:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    return link


def _archive() -> Path:
    [archive] = HERE.glob("layouts-*.tar.xz")
    return unpacked(archive)
