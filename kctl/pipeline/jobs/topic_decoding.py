"""TopicDecoding: schemas that decode the records of each topic in an export, resolved by its driver."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kctl.pipeline.export_files.column_layout import check_column, column_of
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.targets import Target

if TYPE_CHECKING:
    from kctl.pipeline.decoding.plan import DecodePlan, DecodeRequest
    from kctl.pipeline.decoding.record_decoding import DecodedTypes


class TopicDecoding:
    """Decoding of topics, with schemas resolved once for each topic before its first range.

    Attributes:
        plans: dict from topic to plan. Empty without decoding.
    """

    def __init__(self, request: "DecodeRequest | None", properties: Mapping[str, object], layout: str) -> None:
        self._request = request
        self._properties = properties
        self._layout = layout
        self._types: dict[str, DecodedTypes] = {}
        self.plans: dict[str, DecodePlan] = {}
        self.types: Mapping[str, DecodedTypes] = {}

    def fit(self, ranges: Sequence[OffsetRange], target: Target) -> None:
        """Resolve the schemas of topics, and the types for the target.

        Raises:
            FolderError: the target has other types.
            ConfigError: the layout's column cannot partition the files of a topic.
        """
        if self._request is not None:
            self._add(self._request, ranges)
        if self._request is None or self._types:
            self.types = target.fit(self._types)
            self._check_layout()

    def _check_layout(self) -> None:
        if column_of(self._layout) is None:
            return
        from kctl.pipeline.decoding.record_decoding import DecodedTypes

        for topic, types in list(self.types.items()) or [("the export", DecodedTypes(None, None))]:
            check_column(self._layout, types.schema(), topic)

    def _add(self, request: "DecodeRequest", ranges: Sequence[OffsetRange]) -> None:
        from kctl.pipeline.decoding.plan import plan_decoding
        from kctl.pipeline.decoding.record_decoding import types_of

        for topic in sorted({each.topic for each in ranges} - set(self.plans)):
            plan = plan_decoding(request, topic, self._properties)
            self._types[topic] = types_of(plan)  # unsupported schemas fail before Spark starts
            self.plans[topic] = plan
