"""The record that a replay was begun: without its positions, a replay that ran before is not a first run.

The record is in the topic of positions, in a transaction with its own id. The coordinator of transactions
remembers this transaction for transactional.id.expiration.ms (7 days by default). So if the id is known and the record
is gone, positions were deleted.
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
"""In place of a partition, in the key of the record."""
_COMMITTED: Final = ("PrepareCommit", "CompleteCommit")


def check_begun(admin: Admin, task: ReplayTask, name: str | None) -> bool:
    """Return whether the record that the replay was begun is there. Args: admin: of the target. name: as it was given.

    Raises: MirrorPositionError: it was there, and was deleted.
    """
    properties, key = resolve(task.target_properties), position_key(task.target, BEGUN)
    if key in kept_positions(properties):
        return True
    found = admin.describe_transactions([_transactional_id(task.target)]).done  # nothing if brokers are before 3.0
    if all(each.state not in _COMMITTED for each in found.values()):
        return False
    if key in kept_positions(properties, require_stable=True):
        return True
    shown = f"replay {name}" if name is not None else "this replay"
    raise MirrorPositionError(
        f"{shown} ran before, and its positions were deleted (topic {POSITIONS_TOPIC})",
        "--name with another name replays the topic from its beginning",
    )


def write_begun(task: ReplayTask) -> None:
    """Write the record that the replay was begun."""
    from kctl.client.producer import Producer

    properties = transactional_properties(resolve(task.target_properties), _transactional_id(task.target))
    with Producer(properties) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        write_position(producer, task.target, BEGUN, MirrorPosition(ResumePoint(), ""))
        producer.commit_transaction()


def _transactional_id(target: MirrorTarget) -> str:
    return f"{target.group_id}-begun"
