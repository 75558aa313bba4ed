"""Record that a replay has started, in the topic of positions.

A transaction with a separate transactional.id writes it. The coordinator keeps that ID for
transactional.id.expiration.ms (7 days by default). If the coordinator knows the ID and the record is missing, positions
were deleted.
"""

from typing import Final

from kctl.client.admin import Admin
from kctl.pipeline.job_errors import MirrorPositionError
from kctl.pipeline.jobs.mirror_positions import (
    POSITIONS_TOPIC,
    MirrorPosition,
    MirrorTarget,
    kept_positions,
    position_key,
    write_position,
)
from kctl.pipeline.jobs.mirror_task import transactional_properties
from kctl.pipeline.jobs.replay_task import ReplayTask
from kctl.pipeline.references import resolve
from kctl.pipeline.resume_point import ResumePoint

BEGUN: Final = -1
"""Partition number in the key of the record."""
_COMMITTED: Final = ("PrepareCommit", "CompleteCommit")


def check_begun(admin: Admin, task: ReplayTask, name: str | None) -> bool:
    """Return whether the record exists. Raise MirrorPositionError if positions were deleted."""
    properties, key = resolve(task.target_properties), position_key(task.target, BEGUN)
    if key in kept_positions(properties):
        return True
    found = admin.describe_transactions([_transactional_id(task.target)]).done  # empty for brokers before 3.0
    if all(each.state not in _COMMITTED for each in found.values()):
        return False
    if key in kept_positions(properties, require_stable=True):
        return True
    shown = f"replay {name}" if name is not None else "this replay"
    raise MirrorPositionError(
        f"cannot continue {shown}: its positions in topic {POSITIONS_TOPIC} were deleted",
        "replay the topic from its beginning under another name, with: --name",
    )


def write_begun(task: ReplayTask) -> None:
    from kctl.client.producer import Producer

    properties = transactional_properties(resolve(task.target_properties), _transactional_id(task.target))
    with Producer(properties) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        write_position(producer, task.target, BEGUN, MirrorPosition(ResumePoint(), ""))
        producer.commit_transaction()


def _transactional_id(target: MirrorTarget) -> str:
    return f"{target.group_id}-begun"
