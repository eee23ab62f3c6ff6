"""How a command reaches a cluster: the options that all of them share, under the names of Kafka's own tools."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.cli.output.printing import complain

if TYPE_CHECKING:
    from replication.wire.client.client_settings import ClientSettings

Bootstrap = Annotated[
    str,
    typer.Option("--bootstrap", "--bootstrap-server", metavar="HOST:PORT,...", help="Brokers to connect to first."),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A Java client's properties: security.protocol, sasl.*, ssl.*"),
]

AskOption = Annotated[
    str | None,
    typer.Option(
        "--ask",
        metavar="HOST:PORT,...",
        help="Brokers of the running cluster, to be asked what files do not show: who leads and is in sync, high "
        "watermarks, settings. Nothing is changed there.",
        show_default=False,
    ),
]


def client_settings(command_config: Path | None) -> "ClientSettings":
    """Read a Java client's properties; report those that have no effect here."""
    from replication.cli.settings.client_properties import ClientProperties

    properties = ClientProperties.of({}) if command_config is None else ClientProperties.read(command_config)
    if properties.passed_over:
        complain(f"{command_config}: ignored, since they have no effect here: {', '.join(properties.passed_over)}")
    return properties.settings
