"""`epochlog serve`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.cli.accepted_losses import AcceptedLossOption, accepted_losses
from replication.cli.failure import MissingPackageError
from replication.cli.output import JsonOption
from replication.serving.leader_choice import LeaderChoice

if TYPE_CHECKING:
    from replication.protocol.addresses import Address


def serve(
    copies: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            readable=False,
            help="The log.dirs roots of one broker, or new directories. With --read-only copies of several brokers' "
            "roots, each a broker's, or a directory that holds its several roots; controllers' too.",
        ),
    ],
    *,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Write nothing and take no lock: clients can only read.")
    ] = False,
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT", help="Where the first broker listens; others take the next ports. Port 0: any free."
        ),
    ] = "127.0.0.1:9092",
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="The name or address by which clients reach this machine; by default that of --listen.",
            show_default=False,
        ),
    ] = None,
    leader: Annotated[
        LeaderChoice,
        typer.Option(
            metavar="BY",
            help="With --read-only, who leads: as the metadata has it, if a copy of that is there (metadata), or the "
            "copies that `advise` recommends by leader epochs (advise).",
        ),
    ] = LeaderChoice.METADATA,
    committed_offsets: Annotated[
        bool,
        typer.Option(
            "--committed-offsets", help="With --read-only: groups begin where they had committed in the cluster."
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="With --read-only: read and check every batch before listening, so that all damage is named first.",
        ),
    ] = False,
    command_config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Properties of the listeners, and of limits for each broker, under Kafka's names."
        ),
    ] = None,
    validate: Annotated[
        bool,
        typer.Option("--validate", help="Say all that would keep the broker from starting, and start nothing."),
    ] = False,
    accept_loss: AcceptedLossOption = None,
    json: JsonOption = False,
) -> None:
    """Be a broker for Kafka's clients, with these log directories; or, with --read-only, let them read copies of some.

    A broker leads the partitions of its directories: of its own, or as one of Kafka's has left them. It is its own
    controller, so nobody else may have the cluster. New directories are formatted. It stops in order on SIGTERM.

    With --read-only no file is changed and no lock is taken, and each directory is a broker of one cluster. A partition
    that is damaged is served up to there. Damage that opening the copies does not find is named on standard error once
    a client reads up to it, or before with --check.

    Groups of consumers live in memory alone: what they commit is gone at the end.

    Example: epochlog serve --read-only broker-1 broker-2
    """
    _ensure_fitting(
        read_only=read_only, check=check, committed_offsets=committed_offsets, leader=leader, validate=validate
    )
    if accept_loss and read_only:
        raise typer.BadParameter("what is only read is served with what it has", param_hint="--accept-loss")
    address = _address(listen)
    try:
        from replication.server.server import Server  # noqa: F401  all that follows needs what it needs
    except ModuleNotFoundError as error:
        raise MissingPackageError("to answer clients, `serve` needs", error, "wire") from error
    if not read_only:
        from replication.cli.serve_broker import broker_properties, serve_broker, validate_broker

        if validate:
            validate_broker(copies, command_config, address, json=json)
        else:
            accepted = accepted_losses(accept_loss)
            serve_broker(copies, broker_properties(command_config, address), advertise, accepted, json=json)
        return
    from replication.cli.serve_copies import serve_copies
    from replication.cli.serving_properties import ServingProperties

    properties = (
        ServingProperties.of({}, address) if command_config is None else ServingProperties.read(command_config, address)
    )
    serve_copies(copies, properties, leader, advertise, committed_offsets=committed_offsets, check=check, json=json)


def _ensure_fitting(
    *, read_only: bool, check: bool, committed_offsets: bool, leader: LeaderChoice, validate: bool
) -> None:
    """Refuse options that mean nothing to what is served."""
    for_copies = {
        "--check": check,
        "--committed-offsets": committed_offsets,
        "--leader": leader is not LeaderChoice.METADATA,
    }
    named = [name for name, is_given in for_copies.items() if is_given]
    if named and not read_only:
        raise typer.BadParameter("it goes with --read-only, which a broker that writes is not", param_hint=named[0])
    if validate and read_only:
        raise typer.BadParameter("what is only read needs no broker to start", param_hint="--validate")


def _address(text: str) -> "Address":
    from replication.protocol.addresses import parse_address
    from replication.protocol.errors import InvalidAddressError

    try:
        if text.startswith(":"):
            return parse_address(f"all{text}", first_port=0)._replace(host="")
        return parse_address(text, first_port=0)
    except InvalidAddressError as error:
        raise typer.BadParameter(f"{error}: give HOST:PORT, such as 127.0.0.1:9092", param_hint="--listen") from error
