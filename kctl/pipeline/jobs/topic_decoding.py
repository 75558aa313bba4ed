"""TopicDecoding: the schemas by which an export decodes the records of each topic, looked up by its driver."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kctl.pipeline.export_files.column_layout import check_column, column_of
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.targets import Target

if TYPE_CHECKING:
    from kctl.pipeline.decoding.plan import DecodePlan, DecodeRequest
    from kctl.pipeline.decoding.record_decoding import DecodedTypes


class TopicDecoding:
    """How the records of each topic are decoded: by schemas that are looked up once a topic, before its first range.

    Args: layout: of the export.
    Attributes:
        plans: by topic; none of an export that does not decode.
        types: by topic, the types that the target wants.
    """

    def __init__(self, request: "DecodeRequest | None", properties: Mapping[str, object], layout: str) -> None:
        self._request = request
        self._properties = properties
        self._layout = layout
        self._types: dict[str, DecodedTypes] = {}
        self.plans: dict[str, DecodePlan] = {}
        self.types: Mapping[str, DecodedTypes] = {}

    def fit(self, ranges: Sequence[OffsetRange], target: Target) -> None:
        """Look up the schemas of topics, and what the target makes of them.

        Raises:
            SchemaError, LibraryMissingError; KafkaError: the registry's; FolderError: the target's.
            ConfigError: files with the columns of a topic cannot be divided by the column of the layout.
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
            self._types[topic] = types_of(plan)  # what no columns can be made of fails before Spark starts
            self.plans[topic] = plan
