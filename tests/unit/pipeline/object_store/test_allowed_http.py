"""Servers without TLS: where the environment allows them, and the setting that an error names."""

import pytest

from kctl.pipeline.job_errors import StoreError
from kctl.pipeline.lake_tables.delta import DeltaTarget
from kctl.pipeline.locations import DeltaTable, StoreUrl
from kctl.pipeline.object_store.store import StoreTimeouts, allows_http, store_problem

S3, GOOGLE, AZURE = "s3://bucket/x", "gs://bucket/x", "abfs://files@account.dfs.core.windows.net/x"
ALLOWED = [
    (S3, {"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}, True),
    (S3, {"AWS_ENDPOINT_URL": "https://127.0.0.1:9000"}, False),
    (GOOGLE, {"GOOGLE_BASE_URL": "http://127.0.0.1:9000"}, False),
    (GOOGLE, {"GOOGLE_ALLOW_HTTP": "true"}, True),
    (AZURE, {"AZURE_STORAGE_ENDPOINT": "http://127.0.0.1:9000"}, False),
    (AZURE, {"AZURE_ALLOW_HTTP": "true"}, True),
    (AZURE.replace("abfs", "abfss"), {"AZURE_ALLOW_HTTP": "True"}, True),
    (AZURE, {"AWS_ENDPOINT_URL": "http://127.0.0.1:9000", "GOOGLE_ALLOW_HTTP": "true"}, False),
]
NO_TLS = "Error performing PUT http://user:canary@127.0.0.1:9000/a in 1ms - HTTP error: builder error"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "GOOGLE_ALLOW_HTTP", "AZURE_ALLOW_HTTP"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("url", "environment", "is_allowed"), ALLOWED)
def test_http_is_allowed_by_the_setting_of_its_service(
    url: str, environment: dict[str, str], is_allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    assert allows_http(StoreUrl(url)) is is_allowed
    options = DeltaTarget(DeltaTable(url), StoreTimeouts())._options()
    assert options["allow_http"] == ("true" if is_allowed else "false")


@pytest.mark.parametrize("prefix", ["", "delta:"])
@pytest.mark.parametrize(
    ("url", "setting"),
    [
        (S3, "AWS_ENDPOINT_URL=http://HOST:PORT"),
        (GOOGLE, "GOOGLE_ALLOW_HTTP=true"),
        (AZURE, "AZURE_ALLOW_HTTP=true"),
        (AZURE.replace("abfs", "abfss"), "AZURE_ALLOW_HTTP=true"),
    ],
)
def test_server_without_tls_that_is_not_allowed_leads_to_the_setting(prefix: str, url: str, setting: str) -> None:
    problem = store_problem(OSError(NO_TLS), f"{prefix}{url}")
    assert type(problem) is StoreError
    assert str(problem) == f"{prefix}{url}: the server does not use TLS"
    assert problem.hint.startswith(f"to allow connections without TLS, set {setting} in the environment")
