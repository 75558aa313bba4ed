"""Commands of a running sandbox, as lines of words. control_socket.py receives them."""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.cluster import TopicRefused
from kctl.sandbox.faults import Fault
from kctl.sandbox.log import OffsetOutOfRange
from kctl.sandbox.quotas import Quota
from kctl.sandbox.sandbox import Sandbox

_LONGEST_WORD = 249
_GREATEST = 2**53


class CommandRefused(Exception):
    """Rejected command; the text has the reason."""


class Command(NamedTuple):
    arguments: str
    """Argument names; names in brackets are optional."""
    about: str
    run: Callable[[Sandbox, list[str]], None]


def carry_out(sandbox: Sandbox, words: list[str]) -> None:
    """Execute one command, or raise CommandRefused."""
    if not words:
        raise CommandRefused(f"no command: use one of {', '.join(COMMANDS)}")
    name, *arguments = words
    command = _command(name, len(arguments))
    try:
        command.run(sandbox, arguments)
    except (ValueError, OffsetOutOfRange, TopicRefused) as error:
        raise CommandRefused(f"{name}: {error}") from None


def _command(name: str, argument_count: int) -> Command:
    command = COMMANDS.get(FORMER_NAMES.get(name, name))
    if command is None:
        raise CommandRefused(f"unknown command {name[:_LONGEST_WORD]!r}: use one of {', '.join(COMMANDS)}")
    shown = command.arguments.split()
    needed = sum(not one.startswith("[") for one in shown)
    if not needed <= argument_count <= len(shown):
        raise CommandRefused(f"invalid arguments of {name}: use {command.arguments or 'no arguments'}")
    return command


# --- arguments --------------------------------------------------------------------------------------------------------


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= _GREATEST):
        raise ValueError(f"invalid number {text[:40]!r}: use 0 or more")
    return int(text)


def _node(sandbox: Sandbox, text: str) -> int:
    node_id = _number(text)
    if node_id not in sandbox.cluster.nodes:
        ids = list(sandbox.cluster.nodes)
        raise ValueError(f"no broker {node_id}: use {ids[0]} to {ids[-1]}")
    return node_id


def _nodes(sandbox: Sandbox, text: str) -> list[int]:
    return list(sandbox.cluster.nodes) if text == "all" else [_node(sandbox, text)]


def _partition(sandbox: Sandbox, topic: str, text: str) -> tuple[str, int]:
    index = _number(text)
    if sandbox.cluster.partition(topic, index) is None:
        raise ValueError(f"no partition {index} of topic {topic[:_LONGEST_WORD]!r}")
    return topic, index


def _fault(text: str) -> Fault:
    try:
        return FORMER_FAULTS.get(text) or Fault(text)
    except ValueError:
        raise ValueError(f"unknown fault {text[:40]!r}: use one of {', '.join(one.value for one in Fault)}") from None


def _code(text: str) -> ErrorCode:
    found = ErrorCode.__members__.get(text)
    if found is None:
        raise ValueError(f"unknown error code {text[:60]!r}: use a Kafka error name, such as NOT_COORDINATOR")
    return found


# --- commands ---------------------------------------------------------------------------------------------------------


def _start(sandbox: Sandbox, words: list[str]) -> None:
    fault = _fault(words[1])
    ms = _number(words[2]) if len(words) > 2 else 0
    for node_id in _nodes(sandbox, words[0]):
        sandbox.start_fault(node_id, fault, ms=ms)


def _stop(sandbox: Sandbox, words: list[str]) -> None:
    for node_id in _nodes(sandbox, words[0]):
        sandbox.stop_fault(node_id, _fault(words[1]))


def _heal(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.heal(None if words in ([], ["all"]) else _node(sandbox, words[0]))


def _fail(sandbox: Sandbox, words: list[str]) -> None:
    api, code = words[0], _code(words[1])
    times = _number(words[2]) if len(words) > 2 else 1
    node_id = _node(sandbox, words[3]) if len(words) > 3 and words[3] != "all" else None
    sandbox.fail_requests(api, code, times=times, node_id=node_id)


def _lead(sandbox: Sandbox, words: list[str]) -> None:
    end_offset = _number(words[3]) if len(words) > 3 else None
    sandbox.move_leader(*_partition(sandbox, words[0], words[1]), _node(sandbox, words[2]), end_offset=end_offset)


def _lead_late(sandbox: Sandbox, words: list[str]) -> None:
    where = _partition(sandbox, words[0], words[1])
    sandbox.elect_late(*where, _node(sandbox, words[2]), ms=_number(words[3]))


def _hold(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.hold_follower(*_partition(sandbox, words[0], words[1]), _node(sandbox, words[2]))


def _lag(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.lag_follower(*_partition(sandbox, words[0], words[1]), _node(sandbox, words[2]))


def _release(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.release_follower(*_partition(sandbox, words[0], words[1]), _node(sandbox, words[2]))


def _delete_records(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.delete_records(*_partition(sandbox, words[0], words[1]), _number(words[2]))


def _coordinate(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.move_coordinator(words[0], _node(sandbox, words[1]))


def _trouble(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.trouble_coordinator(words[0], None if words[1] == "none" else _code(words[1]))


def _forget_sessions(sandbox: Sandbox, words: list[str]) -> None:
    for node_id in _nodes(sandbox, words[0]):
        sandbox.forget_fetch_sessions(node_id)


def _coordinate_transaction(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.move_transaction_coordinator(words[0], _node(sandbox, words[1]))


def _trouble_transaction(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.trouble_transaction_coordinator(words[0], None if words[1] == "none" else _code(words[1]))


def _hold_markers(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.hold_markers(words[0])


def _release_markers(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.release_markers(words[0])


def _lose_markers(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.lose_markers(words[0])


def _hold_moves(sandbox: Sandbox, _words: list[str]) -> None:
    sandbox.hold_moves()


def _release_moves(sandbox: Sandbox, _words: list[str]) -> None:
    sandbox.release_moves()


def _expire_producers(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.expire_producers(*_partition(sandbox, words[0], words[1]))


def _limit(sandbox: Sandbox, words: list[str]) -> None:
    try:
        quota = Quota(words[0])
    except ValueError:
        raise ValueError(
            f"unknown quota {words[0][:40]!r}: use one of {', '.join(one.value for one in Quota)}"
        ) from None
    bytes_per_s = None if words[1] == "none" else _number(words[1])
    nodes = _nodes(sandbox, words[2] if len(words) > 2 else "all")
    for node_id in nodes:
        sandbox.limit(quota, bytes_per_s, node_id=node_id)


def _disk(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.set_disk(_node(sandbox, words[0]), None if words[1] == "offline" else _number(words[1]))


def _hold_metadata(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.hold_metadata(_node(sandbox, words[0]))


def _release_metadata(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.release_metadata(_node(sandbox, words[0]))


def _register(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.register(_node(sandbox, words[0]))


def _unregister(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.register(_node(sandbox, words[0]), is_registered=False)


def _fence(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.fence(_node(sandbox, words[0]))


def _unfence(sandbox: Sandbox, words: list[str]) -> None:
    sandbox.fence(_node(sandbox, words[0]), is_fenced=False)


def _stop_controllers(sandbox: Sandbox, _words: list[str]) -> None:
    sandbox.stop_controllers()


def _start_controllers(sandbox: Sandbox, _words: list[str]) -> None:
    sandbox.start_controllers()


COMMANDS: dict[str, Command] = {
    "start": Command("NODE|all FAULT [MS]", "start a fault, for the fault delay with a delay of MS", _start),
    "stop": Command("NODE|all FAULT", "stop a fault", _stop),
    "clear": Command("[NODE|all]", "stop all faults and cancel failures", _heal),
    "fail": Command("API CODE [TIMES] [NODE|all]", "fail the next requests with an error", _fail),
    "move-leader": Command(
        "TOPIC PARTITION NODE [END_OFFSET]", "move a leader and lose the records from END_OFFSET", _lead
    ),
    "move-leader-late": Command("TOPIC PARTITION NODE MS", "remove the leader for MS, then move it", _lead_late),
    "stop-replica": Command("TOPIC PARTITION NODE", "stop a follower and remove it from the in-sync replicas", _hold),
    "lag-replica": Command(
        "TOPIC PARTITION NODE", "stop a follower, which stays in sync for replica.lag.time.max.ms", _lag
    ),
    "start-replica": Command("TOPIC PARTITION NODE", "start a follower again", _release),
    "delete-records": Command("TOPIC PARTITION OFFSET", "delete records before OFFSET", _delete_records),
    "move-coordinator": Command("GROUP NODE", "move the coordinator of a group", _coordinate),
    "fail-coordinator": Command("GROUP CODE|none", "fail requests for a group with a coordinator error", _trouble),
    "move-transaction-coordinator": Command(
        "ID NODE", "move the coordinator of a transactional id", _coordinate_transaction
    ),
    "fail-transaction-coordinator": Command(
        "ID CODE|none", "fail requests for a transactional id with a coordinator error", _trouble_transaction
    ),
    "hold-markers": Command("ID", "hold back the markers of a transaction", _hold_markers),
    "release-markers": Command("ID", "write the markers of a transaction that were held back", _release_markers),
    "lose-markers": Command("ID", "lose the markers of the next transaction, which then hangs", _lose_markers),
    "hold-moves": Command("", "hold back reassignments", _hold_moves),
    "release-moves": Command("", "complete the reassignments that were held back", _release_moves),
    "expire-producers": Command("TOPIC PARTITION", "expire producers without an open transaction", _expire_producers),
    "limit": Command("produce|fetch BYTES_PER_S|none [NODE|all]", "throttle clients that exceed a rate", _limit),
    "forget-sessions": Command("NODE|all", "drop the fetch sessions, as after a broker restart", _forget_sessions),
    "limit-disk": Command("NODE BYTES|offline", "limit the disk of a broker, or take its log directory offline", _disk),
    "hold-metadata": Command("NODE", "freeze the metadata of a broker", _hold_metadata),
    "release-metadata": Command("NODE", "update the metadata of a broker again", _release_metadata),
    "unregister": Command("NODE", "remove a broker from the metadata", _unregister),
    "register": Command("NODE", "add a broker to the metadata again", _register),
    "fence": Command("NODE", "fence a broker, as if it sent no heartbeats", _fence),
    "unfence": Command("NODE", "unfence a broker", _unfence),
    "stop-controllers": Command("", "stop all controllers but no brokers", _stop_controllers),
    "start-controllers": Command("", "start all controllers", _start_controllers),
}
"""Commands by name. `kctl sandbox fault --help` lists them."""
FORMER_NAMES = {
    "lead": "move-leader",
    "lead-late": "move-leader-late",
    "hold": "stop-replica",
    "lag": "lag-replica",
    "release": "start-replica",
    "coordinate": "move-coordinator",
    "trouble": "fail-coordinator",
    "coordinate-transaction": "move-transaction-coordinator",
    "trouble-transaction": "fail-transaction-coordinator",
    "heal": "clear",
    "disk": "limit-disk",
}
"""Former names of commands, still accepted."""
FORMER_FAULTS = {"drop-answers": Fault.DROP_RESPONSES}
"""Former names of faults, still accepted."""
