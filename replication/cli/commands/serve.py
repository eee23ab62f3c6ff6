"""`epochlog serve`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.cli.output.failure import MissingPackageError
from replication.cli.output.printing import JsonOption
from replication.cli.serving.accepted_losses import AcceptedLossOption, accepted_losses
from replication.cluster.serving.leader_choice import LeaderChoice

if TYPE_CHECKING:
    from replication.wire.addresses import Address


def serve(
    copies: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            readable=False,
            help="The log.dirs roots of one broker, or new directories with --create. With --read-only copies of "
            "brokers' roots, or directories that hold those of one broker or of several; controllers' too.",
        ),
    ],
    *,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Write nothing and take no lock: clients can only read.")
    ] = False,
    create: Annotated[
        bool, typer.Option("--create", help="Format directories that are missing or empty, for a new broker.")
    ] = False,
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Where the first broker listens; others use the next ports. Port 0: any free port.",
        ),
    ] = "127.0.0.1:9092",
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="The host that clients connect to; by default that of --listen.",
            show_default=False,
        ),
    ] = None,
    leader: Annotated[
        LeaderChoice,
        typer.Option(
            "--leader-choice",
            metavar="BY",
            help="With --read-only, how leaders are chosen: by a copy of the cluster's metadata, if there is one "
            "(metadata), or as `advise` recommends by leader epochs (advise).",
        ),
    ] = LeaderChoice.METADATA,
    committed_offsets: Annotated[
        bool,
        typer.Option(
            "--committed-offsets",
            help="With --read-only: groups start at the offsets that they committed in the cluster.",
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="With --read-only: read and check every batch before listening, so that all damage is named first.",
        ),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Properties of the listeners, and of limits for each broker, under Kafka's names."
        ),
    ] = None,
    validate: Annotated[
        bool,
        typer.Option(
            "--validate", help="Report everything that would keep the broker from starting, and start nothing."
        ),
    ] = False,
    accept_loss: AcceptedLossOption = None,
    json: JsonOption = False,
) -> None:
    """Run a broker for Kafka clients on log directories; with --read-only, serve copies for reading.

    The broker leads the partitions in its directories, which may be those that one of Kafka's brokers has left. It is
    its own controller, so no other process may run the cluster. New directories are formatted with --create, and are
    refused without it. It shuts down cleanly on SIGTERM.

    With --read-only no file is changed and no lock is taken, and each directory is a broker of one cluster. A damaged
    partition is served up to the damage. Damage that is not found as the copies are opened is reported on standard
    error once a client reads up to it, or earlier with --check.

    Consumer groups are kept in memory only: committed offsets are lost when it stops.

    Examples:
      epochlog serve --read-only broker-1 broker-2
      epochlog serve --create data --listen 127.0.0.1:9092
      epochlog serve data --config server.properties --validate
    """
    _ensure_fitting(
        read_only=read_only, check=check, committed_offsets=committed_offsets, leader=leader, validate=validate
    )
    if create and read_only:
        raise typer.BadParameter("what is only read has to be there", param_hint="--create")
    if accept_loss and read_only:
        raise typer.BadParameter("what is only read is served with what it has", param_hint="--accept-loss")
    address = _address(listen)
    try:
        from replication.wire.server.server import Server  # noqa: F401  all that follows needs what it needs
    except ModuleNotFoundError as error:
        raise MissingPackageError("to answer clients, `serve` needs", error, "wire") from error
    if not read_only:
        from replication.cli.serving.serve_broker import broker_properties, serve_broker, validate_broker

        if validate:
            validate_broker(copies, config, address, create=create, json=json)
        else:
            accepted = accepted_losses(accept_loss)
            properties = broker_properties(config, address)
            serve_broker(copies, properties, advertise, accepted, create=create, json=json)
        return
    from replication.cli.serving.serve_copies import serve_copies
    from replication.cli.settings.serving_properties import ServingProperties

    serving = ServingProperties.of({}, address) if config is None else ServingProperties.read(config, address)
    serve_copies(copies, serving, leader, advertise, committed_offsets=committed_offsets, check=check, json=json)


def _ensure_fitting(
    *, read_only: bool, check: bool, committed_offsets: bool, leader: LeaderChoice, validate: bool
) -> None:
    """Refuse options that mean nothing to what is served."""
    for_copies = {
        "--check": check,
        "--committed-offsets": committed_offsets,
        "--leader-choice": leader is not LeaderChoice.METADATA,
    }
    named = [name for name, is_given in for_copies.items() if is_given]
    if named and not read_only:
        raise typer.BadParameter("it goes with --read-only, which a broker that writes is not", param_hint=named[0])
    if validate and read_only:
        raise typer.BadParameter("what is only read needs no broker to start", param_hint="--validate")


def _address(text: str) -> "Address":
    from replication.wire.addresses import parse_address
    from replication.wire.errors import InvalidAddressError

    if text.isascii() and text.isdigit():
        raise typer.BadParameter(
            f"{text!r} is a port without a host; write 127.0.0.1:{text} for this machine alone, or :{text} for each of "
            "its addresses",
            param_hint="--listen",
        )
    try:
        if text.startswith(":"):
            return parse_address(f"all{text}", first_port=0)._replace(host="")
        return parse_address(text, first_port=0)
    except InvalidAddressError as error:
        raise typer.BadParameter(
            f"{text!r} is no address to listen on: {error.fault}; write HOST:PORT, such as 127.0.0.1:9092",
            param_hint="--listen",
        ) from error
