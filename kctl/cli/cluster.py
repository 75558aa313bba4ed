"""`kctl cluster`: brokers, controller, features and quorum."""

from typing import TYPE_CHECKING

from kctl.cli.commands import Commands
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import Failure
from kctl.cli.formats.listing import SHAPES, Listing, Section, write_listing
from kctl.cli.formats.rows import Row, Value
from kctl.cli.options import Common, with_common

if TYPE_CHECKING:
    from kctl.client.admin import Admin, ClusterDescription, QuorumReplica

BROKER_COLUMNS = ("broker", "host", "port", "rack", "controller", "state")
QUORUM_COLUMNS = ("node", "role", "log_end_offset", "lag", "last_fetch_ms", "last_caught_up_ms")

LONGEST_ID = 10
"""Maximum digits of a broker ID."""
LONGEST_S = 5
"""Timeout of the quorum request in `describe`: brokers forward the request to the controllers."""

app = Commands(no_args_is_help=True)


@app.callback()
def cluster() -> None:
    """Show brokers, features, and the controller quorum."""


@app.command()
@with_common(*SHAPES)
def describe(common: Common) -> int:
    """Show the cluster ID, brokers with racks and states, the controller, and feature levels.

    Exits with 3 if a broker is fenced, or if an unregistered broker has replicas.
    """
    from kctl.cli.absent_brokers import find_absent  # the client: not wanted for --help
    from kctl.cli.admin_client import admin_of

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin:
        described = admin.describe_cluster()
        features = admin.describe_features()
        controller = _controller(admin, described)
        absent = find_absent(admin, described)
    rows: list[Row] = [
        {
            "broker": node.node_id,
            "host": node.host,
            "port": node.port,
            "rack": node.rack,
            "controller": None if controller is None else node.node_id == controller,
            "state": "up",
        }
        for node in described.nodes
    ]
    for each in absent:
        node = each.node
        place: Row = {} if node is None else {"host": node.host, "port": node.port, "rack": node.rack}
        rows.append({**dict.fromkeys(BROKER_COLUMNS), **place, "broker": each.node_id, "state": each.state})
    rows.sort(key=lambda row: str(row["broker"]).zfill(LONGEST_ID))
    facts: list[tuple[str, Value]] = [
        ("cluster_id", described.cluster_id),
        ("controller", controller),
        *((feature.name, f"{feature.level} of {feature.highest}") for feature in features),
    ]
    extra = {
        "cluster_id": described.cluster_id,
        "controller_id": controller,
        "features": {
            feature.name: {"level": feature.level, "lowest": feature.lowest, "highest": feature.highest}
            for feature in features
        },
    }
    sections = [Section(facts, rows)]
    write_listing(common.environment, output, Listing("brokers", BROKER_COLUMNS, rows, extra, sections=sections))
    for each in absent:
        common.environment.say_failure(Failure(ExitCode.PARTIAL_FAILURE, str(each)), is_error=False)
    return ExitCode.PARTIAL_FAILURE if absent else ExitCode.OK


def _controller(admin: "Admin", described: "ClusterDescription") -> int | None:
    """Return the active controller, or None if no response contains it within LONGEST_S."""
    from kctl.client.errors import KafkaError

    if described.controller_id >= 0:
        return described.controller_id
    try:
        leader_id = admin.describe_quorum(timeout=LONGEST_S).leader_id
    except KafkaError:
        return None
    return leader_id if leader_id >= 0 else None


@app.command()
@with_common(*SHAPES)
def quorum(common: Common) -> int:
    """Show how far each controller and broker lags behind the metadata log."""
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin:
        found = admin.describe_quorum()
    rows = [_replica_row(each, is_leader=each.node_id == found.leader_id) for each in found.replicas]
    state = {"leader_epoch": found.leader_epoch, "high_watermark": found.high_watermark}
    extra = {"leader_id": found.leader_id, **state}
    sections = [Section([("leader", found.leader_id), *state.items()], rows)]
    write_listing(common.environment, output, Listing("quorum", QUORUM_COLUMNS, rows, extra, sections=sections))
    return ExitCode.OK


def _replica_row(replica: "QuorumReplica", *, is_leader: bool) -> Row:
    return {
        "node": replica.node_id,
        "role": "leader" if is_leader else "voter" if replica.is_voter else "observer",
        "log_end_offset": replica.log_end_offset,
        "lag": None if replica.lag < 0 else replica.lag,
        "last_fetch_ms": None if replica.last_fetch_at_ms < 0 else replica.last_fetch_at_ms,
        "last_caught_up_ms": None if replica.last_caught_up_at_ms < 0 else replica.last_caught_up_at_ms,
    }
