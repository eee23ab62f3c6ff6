"""The option by which a broker leads partitions of which it has less than it once had."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logstore import TopicPartition

AcceptedLossOption = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-loss",
        metavar="PARTITION",
        help="At this start, lead TOPIC-N with what is left of it, although its checkpoint files promised more: other "
        "replicas are truncated to that. May be given several times.",
        show_default=False,
    ),
]


def accepted_losses(names: "Iterable[str] | None") -> "frozenset[TopicPartition]":
    """Return the partitions that are named. Raises BadParameter."""
    from logstore.errors import InvalidDirectoryNameError
    from logstore.topic_partition import parse_directory_name

    try:
        return frozenset(parse_directory_name(name).topic_partition for name in names or ())
    except InvalidDirectoryNameError as error:
        raise typer.BadParameter(f"{error}: name a partition as TOPIC-N", param_hint="--accept-loss") from error
