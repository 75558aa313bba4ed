"""DecodedSchemas: types of decoded keys and values in the files of each topic, stored in manifests.

Parquet readers can merge the files of all runs: new fields are added, and removed fields become nulls. A changed type
is an error.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kctl.pipeline.export_files.manifests import ExportedRange, Manifest
from kctl.pipeline.job_errors import ExportDataError, reason_of

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.pipeline.decoding.record_decoding import DecodedTypes


class DecodedSchemas:
    def __init__(self, where: object) -> None:
        self._where = where
        self._kept: dict[str, str] = {}
        self._wanted: dict[str, str] = {}

    def read(self, manifests: Iterable[Manifest]) -> None:
        self._kept = {topic: text for manifest in manifests for topic, text in manifest.schemas.items()}

    def fit(self, decoded: "Mapping[str, DecodedTypes]") -> "dict[str, DecodedTypes]":
        """Return the types to write by topic.

        Raises: FolderError: the files of a topic have other types.
        """
        return {topic: self._fitted(topic, types) for topic, types in decoded.items()}

    def changes(self, ranges: Iterable[ExportedRange]) -> dict[str, str]:
        topics = {each.topic for each in ranges} & self._wanted.keys()
        return {topic: self._wanted[topic] for topic in topics if self._wanted[topic] != self._kept.get(topic)}

    def keep(self, changes: Mapping[str, str]) -> None:
        self._kept |= changes

    def _fitted(self, topic: str, types: "DecodedTypes") -> "DecodedTypes":
        import pyarrow as pa

        from kctl.pipeline.decoding.record_decoding import DecodedTypes
        from kctl.pipeline.export_files.merged_schema import evolved

        wanted = pa.schema([(side, kind) for side, kind in types._asdict().items() if kind is not None])
        before = self._parsed(topic) if topic in self._kept else wanted
        merged = evolved(before, wanted, f"{self._where}: topic {topic}", can_widen=False)
        self._wanted[topic] = b64encode(merged.serialize().to_pybytes()).decode()
        return DecodedTypes(*(merged.field(side).type if side in merged.names else None for side in types._fields))

    def _parsed(self, topic: str) -> "pa.Schema":
        import pyarrow as pa

        try:
            return pa.ipc.read_schema(pa.py_buffer(b64decode(self._kept[topic], validate=True)))
        except (ValueError, OSError, pa.ArrowException) as e:
            problem = f"cannot read the schema of topic {topic} in the manifests of {self._where}: {reason_of(e)}"
            raise ExportDataError(problem) from None
