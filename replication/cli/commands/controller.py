"""`epochlog controller`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from replication.cli.output.failure import CommandError, MissingPackageError
from replication.cli.output.printing import JsonOption, complain, print_json_line
from replication.cli.output.prose import wrapped
from replication.cli.serving.until_told import until_told

if TYPE_CHECKING:
    from replication.cli.settings.classic_properties import ClassicProperties
    from replication.cluster.classic.classic_node import ClassicNode

_PAUSE_SECONDS: Final = 0.5


def controller(
    *,
    config: Annotated[
        Path, typer.Option(metavar="FILE", help="Properties of the controller, under the names of a broker's.")
    ],
    zookeeper: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT[/CHROOT]",
            help="The cluster's ZooKeeper, with commas between several servers. Default: zookeeper.connect of FILE.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a controller of a cluster that keeps its metadata in ZooKeeper, for brokers of Kafka 3.9.

    It stands for election as each of the brokers does. Once it is elected it decides who leads, as Kafka's own
    controller would, until it is stopped or loses its session; then another one is elected. What happens is a line on
    standard error each. It needs an id of its own, broker.id, holds no replicas, and reaches brokers by a PLAINTEXT
    listener; what it does not do yet is on the page "A controller on ZooKeeper" of the documentation.

    Examples:
      epochlog controller --zookeeper zk1:2181,zk2:2181/kafka --config controller.properties
      epochlog controller --config controller.properties --json
    """
    try:
        from replication.cli.settings.classic_properties import ClassicProperties
    except ModuleNotFoundError as error:
        raise MissingPackageError("a controller needs", error, "wire") from error
    properties = ClassicProperties.read(config, zookeeper)
    if properties.passed_over and not json:
        complain(f"makes no difference here: {', '.join(properties.passed_over)}")
    _run(properties, json=json)


def _run(properties: "ClassicProperties", *, json: bool) -> None:
    from replication.cli.serving.event_lines import events_printed
    from replication.cluster.classic.classic_node import ClassicNode

    with until_told() as stop, events_printed(json=json), ClassicNode.open(properties.node) as node:
        _print(node, properties, json=json)
        while not stop.wait(_PAUSE_SECONDS):
            if node.failure is not None:
                raise CommandError(
                    f"the controller cannot continue: {node.failure}; remove the cause, and start it again"
                ) from node.failure


def _print(node: "ClassicNode", properties: "ClassicProperties", *, json: bool) -> None:
    settings, address = properties.node, f"{node.listener.host}:{node.listener.port}"
    if json:
        told = {"broker_id": settings.broker_id, "zookeeper": settings.zookeeper, "address": address}
        print_json_line({**told, "passed_over": list(properties.passed_over)})
        return
    for line in wrapped(
        f"Controller {settings.broker_id} stands for election at {settings.zookeeper}. Brokers find it at {address}."
    ):
        print(line, flush=True)
