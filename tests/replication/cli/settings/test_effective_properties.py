"""Each property of a broker's file, or of a cluster for tests, makes a difference, or it is said that it makes none."""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cache
from inspect import getfile
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import logstore
import replication
from logstore.directory.directory_settings import DirectorySettings
from logstore.log_config import LogConfig
from replication.cli.settings import broker_properties, joining_properties, named_listeners, serving_properties
from replication.cli.settings.broker_properties import BrokerProperties
from replication.cli.settings.joining_properties import JoiningProperties
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.records.metadata.settings.ineffective_settings import OF_BROKERS, OF_TOPICS
from replication.records.metadata.settings.topic_settings import SHARED_SETTINGS
from replication.testing import cluster_defaults
from replication.testing.cluster_defaults import ClusterDefaults
from replication.wire.addresses import Address
from replication.wire.errors import InvalidSettingsError
from replication.wire.server.server_limits import ServerLimits
from tests.replication.cli.settings.test_joining_properties import LEAST

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
GUARDED = {"authorizer.class.name": AUTHORIZER}
NEEDED: Mapping[str, Mapping[str, str]] = {"super.users": GUARDED, "allow.everyone.if.no.acl.found": GUARDED}
"""What is of use only with something else."""
VALUES = (
    *("true", "false", "compact", "LogAppendTime", "zstd", "*", "a", "User:a", "a:9093", "127.0.0.1:9404"),
    *("0.25", "1", "2", "5", "7000", "2000000", AUTHORIZER),
)
"""One or another of them may stand for each property."""
UNUSED = {*OF_TOPICS, *(SHARED_SETTINGS[name] for name in OF_TOPICS if name in SHARED_SETTINGS)}
"""What else than the default makes no difference."""


def made(read: Callable[[Mapping[str, str]], Any], name: str, given: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Values that a property may have, with what is made of each."""
    for value in VALUES:
        with suppress(InvalidSettingsError, ValueError):
            yield value, read({**given, name: value})


def is_effective_or_refused(
    read: Callable[[Mapping[str, str]], Any], name: str, given: Mapping[str, str] = MappingProxyType({})
) -> bool:
    """Whether nothing but the default is taken of what makes no difference, and all else makes one."""
    found = list(made(read, name, given))
    if name in UNUSED:
        return all(value == "false" for value, _ in found)
    return any(each != read(given) for _, each in found)


@pytest.mark.parametrize("name", sorted({*broker_properties.KNOWN, *serving_properties.LIMITS}))
def test_a_property_of_a_lone_broker_makes_a_difference_or_is_refused(name: str) -> None:
    def read(given: Mapping[str, str]) -> BrokerProperties:
        return BrokerProperties.of(given, Address("127.0.0.1", 9092))

    assert is_effective_or_refused(read, name, NEEDED.get(name, {}))


@pytest.mark.parametrize("name", sorted(joining_properties.KNOWN - LEAST.keys() - set(named_listeners.KNOWN)))
def test_a_property_of_a_joining_broker_makes_a_difference_or_is_named(name: str) -> None:
    given = {**LEAST, **NEEDED.get(name, {})}
    plain = JoiningProperties.of(given)
    found = list(made(JoiningProperties.of, name, given))
    if name in UNUSED:
        assert all(each.passed_over == (name,) for value, each in found if value != "false")
    else:
        assert any(each != plain and not each.passed_over for _, each in found)


@pytest.mark.parametrize("name", sorted(cluster_defaults.KNOWN))
def test_a_setting_of_a_cluster_for_tests_makes_a_difference_or_is_refused(name: str) -> None:
    assert is_effective_or_refused(ClusterDefaults.of, name)


@pytest.mark.parametrize("settings", [LogConfig, DirectorySettings, ServerLimits, GroupSettings])
def test_each_field_of_settings_is_read_somewhere(settings: type[Any]) -> None:
    own = Path(getfile(settings))
    read = {name for path, names in attributes().items() if path != own for name in names}
    by_properties = {
        inner.attr
        for node in ast.walk(ast.parse(own.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name in read
        for inner in ast.walk(node)
        if isinstance(inner, ast.Attribute)
    }
    assert {each.name for each in fields(settings)} - read - by_properties == set()


@cache
def attributes() -> dict[Path, frozenset[str]]:
    """The names that each module asks objects for."""
    found = {}
    for package in (logstore, replication):
        for path in Path(str(package.__file__)).parent.rglob("*.py"):
            tree = ast.walk(ast.parse(path.read_text()))
            loads = (node for node in tree if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load))
            found[path] = frozenset(node.attr for node in loads)
    return found


def test_what_is_said_to_be_taken_from_a_brokers_file_is() -> None:
    said = {name for name, why in OF_BROKERS.items() if "from its file" in why}
    assert said
    assert said <= joining_properties.KNOWN
