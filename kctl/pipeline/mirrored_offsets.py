"""Check for committed offsets that are positions of a mirror. Imports of the mirror are deferred."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kctl.client.admin import OffsetAndMetadata


def is_of_mirror(offset: "OffsetAndMetadata | None") -> bool:
    """Return whether a committed offset is a position of `kctl pipeline mirror`, an offset of the source topic."""
    if offset is None or not offset.metadata.startswith("{"):
        return False
    from kctl.pipeline.jobs.mirror_positions import is_position

    return is_position(offset)
