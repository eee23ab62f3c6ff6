"""Values are read as Kafka reads them, and what is allowed can be read by a log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import LogConfig
from replication.records.metadata.settings.setting_values import SettingType, parse_value, value_fault
from replication.records.metadata.settings.topic_settings import TOPIC_SETTINGS, settings_fault

NUMBERS = st.integers(-(2**64), 2**64).map(str) | st.floats().map(str)
WORDS = st.sampled_from(["compact", "delete", "zstd", "producer", "CreateTime", "LogAppendTime", "true", "FALSE", "*"])
BLANKS = st.sampled_from(["", " ", "\t"])
TEXTS = st.builds("".join, st.tuples(BLANKS, NUMBERS | WORDS | st.text(), BLANKS))


@given(name=st.sampled_from(sorted(TOPIC_SETTINGS)), text=TEXTS)
def test_what_a_topic_may_be_set_to_can_be_read_by_its_log(name: str, text: str) -> None:
    if settings_fault({name: text}) is None:
        LogConfig.of({name: text})  # raises nothing


@given(lags=st.tuples(st.integers(0, 9), st.integers(1, 9)))
def test_what_is_compacted_at_the_latest_may_be_compacted_by_then(lags: tuple[int, int]) -> None:
    least, most = lags
    fault = settings_fault({"min.compaction.lag.ms": str(least), "max.compaction.lag.ms": str(most)})
    assert (fault is not None) == (least > most)


@given(name=st.sampled_from(sorted(TOPIC_SETTINGS)))
def test_every_default_is_allowed(name: str) -> None:
    assert settings_fault({name: TOPIC_SETTINGS[name].default or ""}) is None


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (SettingType.BOOLEAN, " TRUE ", True),
        (SettingType.INT, "+7", 7),
        (SettingType.INT, "-2147483648", -(2**31)),
        (SettingType.LONG, "0" * 5_000 + "9", 9),
        (SettingType.LONG, "9223372036854775807", 2**63 - 1),
        (SettingType.DOUBLE, "1.5e1", 15.0),
        (SettingType.DOUBLE, ".5", 0.5),
        (SettingType.LIST, " a , ,b", ["a", "b"]),
        (SettingType.STRING, " a ", "a"),
    ],
)
def test_a_value_is_read_without_blanks_around_it(type_: SettingType, text: str, value: object) -> None:
    assert parse_value(type_, text) == value


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (SettingType.BOOLEAN, "1"),
        (SettingType.INT, "2147483648"),
        (SettingType.INT, "1_0"),
        (SettingType.LONG, "9223372036854775808"),
        (SettingType.LONG, "1.0"),
        (SettingType.LONG, ""),
        (SettingType.DOUBLE, "0.5f"),
        (SettingType.DOUBLE, "nan"),
        (SettingType.DOUBLE, "1_0"),
    ],
)
def test_a_value_of_another_type_is_none(type_: SettingType, text: str) -> None:
    with pytest.raises(ValueError, match=r"Not a number of type|either true or false"):
        parse_value(type_, text)


def test_a_fault_shows_the_beginning_of_a_long_value() -> None:
    setting = TOPIC_SETTINGS["cleanup.policy"]
    fault = value_fault("cleanup.policy", setting.type, setting.allowed, "x" * 5_000)
    assert (
        fault == f"Invalid value {'x' * 60}… for configuration cleanup.policy: String must be one of: compact, delete"
    )
