"""What an unclean election would lose: worked out from the log directories of brokers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from logstore import TopicPartition
from logstore.meta_properties import META_PROPERTIES_NAME, MetaProperties
from replication.operations.tool_error import ToolError
from replication.planning import Advice, Replica, Standing, advise, open_replicas
from replication.planning.failures import PARTITION_ERRORS, OnError
from replication.planning.replica import holding
from replication.planning.rereading import judge_copies

_LOG_DIR: Final = re.compile(r"(?:(?P<id>\d+)=)?(?P<path>.+)", re.DOTALL)
_MIN_REPLICAS: Final = 2


def open_log_directories(arguments: Sequence[str], on_error: OnError) -> list[Replica]:
    """Open `[ID=]DIR` arguments as replicas that are called by their brokers' ids.

    Without an ID it is read from the directory's meta.properties. Raises ToolError where none is told, where there are
    fewer than two, or two of one broker, and what else `open_replicas` raises.
    """
    if len(arguments) < _MIN_REPLICAS:
        raise ToolError("Option log-dir is needed for two brokers or more: what is lost shows only in comparison")
    directories = [_parsed(argument) for argument in arguments]
    ids = [broker_id for broker_id, _ in directories]
    if len(set(ids)) < len(ids):
        raise ToolError(f"Option log-dir names one broker twice: {', '.join(map(str, sorted(ids)))}")
    replicas = open_replicas([path for _, path in directories], on_error=on_error)
    return [replace(replica, name=str(broker_id)) for broker_id, replica in zip(ids, replicas, strict=True)]


def advice_for(replicas: Sequence[Replica], partition: TopicPartition, on_error: OnError) -> Advice | None:
    """Compare the copies of a partition; None, with `on_error` told why, where they cannot be compared."""
    try:
        return judge_copies(partition, holding(replicas, partition), partial(advise, partition), on_error)
    except PARTITION_ERRORS as error:
        on_error(partition, error)
        return None


def standing_of(advice: Advice | None, broker_id: int | None) -> Standing | None:
    """Return how a broker's copy stands among the others; None where it was not compared."""
    if advice is None:
        return None
    return next((each for each in advice.replicas if each.replica == str(broker_id)), None)


def losses_as_json(advice: Advice | None, broker_id: int | None) -> Mapping[str, object]:
    """Return what the others would lose, and who had better lead, as can be written as JSON."""
    standing = standing_of(advice, broker_id)
    if advice is None or standing is None:
        return {"lost": None, "recommended": None}
    return {"lost": standing.as_json()["lost"], "recommended": int(advice.recommended)}


def _parsed(argument: str) -> tuple[int, Path]:
    match = _LOG_DIR.fullmatch(argument)
    path = Path(match["path"] if match else argument)
    if match and match["id"]:
        return int(match["id"]), path
    try:
        broker_id = MetaProperties.read(path / META_PROPERTIES_NAME).node_id
    except FileNotFoundError:
        broker_id = None
    if broker_id is None:
        raise ToolError(f"{path}: no {META_PROPERTIES_NAME} tells whose it is; write ID={path}")
    return broker_id, path
