"""The end of an application without close(): the network thread is waited for, and lost records are reported."""

from typing import TYPE_CHECKING, Any

from kctl.client.loop import at_exit
from tests.sim.chaos_producer.producer_cluster import Phase

if TYPE_CHECKING:
    from tests.sim.chaos_producer.actors import Life

EXITING = 0.5
"""The part of ends in the chaos that are the end of a program without close()."""


def is_exit(life: "Life") -> bool:
    """Draw whether a life ends without close()."""
    exits = life.world.hub.rng(f"exits.{life.proc}").random() < EXITING
    return exits and life.world.phase is Phase.CHAOS and not life.is_closing


def exit_without_close(life: "Life") -> None:
    """End as a program does: its threads first, then the network thread."""
    life.is_closing = True
    while life.threads:
        life.world.sleep_ms(10)
    loop = life.producer._open_loop
    limit_ms = min(at_exit.LIMIT_MS, life.plan.exit_limit_ms)

    def reported(left: at_exit.Unfinished) -> dict[str, Any]:
        transaction = life.producer._sender.result().transaction
        return {"records": left.records, "said": at_exit.report([left]), "transaction": transaction}

    life.call("main", "exit", lambda: at_exit.finish([loop])[0], limit_ms, None, reported)
    life.over()
