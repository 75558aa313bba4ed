"""Which committed offsets are positions of a mirror. Light: what reads such a position is loaded
where it may be one.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kctl.client.admin import OffsetAndMetadata


def is_of_mirror(offset: "OffsetAndMetadata | None") -> bool:
    """Whether an offset is the position of `kctl pipeline mirror`: one of the source, not of the topic it is kept for.

    A position names the topics on both sides in its metadata.
    """
    if offset is None or not offset.metadata.startswith("{"):
        return False
    from kctl.pipeline.jobs.mirror_positions import is_position

    return is_position(offset)
