"""All that read an export in an object store have the timeouts of their Kafka properties."""

from collections.abc import Callable

import pytest

from kctl.pipeline.export_files.exported_records import read_exported
from kctl.pipeline.export_files.manifests import ExportedFile, ExportedRange
from kctl.pipeline.job_errors import StoreTimeoutError
from kctl.pipeline.jobs.file_import import ImportRequest, plan_import
from kctl.pipeline.jobs.replay import ReplayRequest, replay
from kctl.pipeline.jobs.verify import VerifyRequest, plan_verify
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store import store
from kctl.pipeline.object_store.store import StoreTimeouts
from kctl.pipeline.progress_marks import marks_in
from kctl.pipeline.targets import read_export

URL = StoreUrl("s3://bucket/x")
SHORT = {"bootstrap.servers": "unused:1", "default.api.timeout.ms": 4000, "request.timeout.ms": 3000}
RANGE = ExportedRange("t", 0, 0, 1, 1, (ExportedFile("t/t-0-0-0.parquet", 1, 9),))


@pytest.mark.parametrize(
    "read",
    [
        lambda: read_export(URL, SHORT),
        lambda: list(read_exported(URL, RANGE, SHORT)),
        lambda: marks_in(URL, SHORT),
        lambda: plan_import(ImportRequest(URL, SHORT)),
        lambda: plan_verify(VerifyRequest("t", SHORT, folder=URL)),
        lambda: replay(ReplayRequest("t", SHORT, SHORT, URL, to_topic="u")),
    ],
    ids=["manifests", "records", "marks", "import", "verify", "replay"],
)
def test_a_reader_has_the_timeouts_of_its_properties(
    read: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(_url: StoreUrl, timeouts: StoreTimeouts) -> None:
        raise StoreTimeoutError(str(timeouts))

    monkeypatch.setattr(store, "_opened", opened)
    with pytest.raises(StoreTimeoutError, match="request_ms=3000, connect_ms=10000, api_ms=4000"):
        read()
