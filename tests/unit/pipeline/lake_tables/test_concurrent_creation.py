"""Two runs that create one Iceberg table at the same time: both continue, whatever error the catalog has for it."""

from collections.abc import Callable
from pathlib import Path

import pyiceberg.catalog
import pytest
from pyiceberg.utils.config import Config

from kctl.pipeline.lake_tables.iceberg import IcebergTarget
from kctl.pipeline.locations import IcebergTable
from kctl.pipeline.object_store.store import StoreTimeouts

pytestmark = pytest.mark.slow  # the libraries of tables take seconds

TABLE = IcebergTable("lake.db.orders")
SETTINGS = {"format": "parquet", "layout": "date"}


@pytest.fixture(autouse=True)
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", (tmp_path / "warehouse").as_uri())
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())


def claim(run_id: str) -> IcebergTarget:
    target = IcebergTarget(TABLE, StoreTimeouts())
    target.claim(run_id, SETTINGS)
    return target


@pytest.mark.parametrize("step", ["create_namespace_if_not_exists", "create_table_if_not_exists"])
def test_table_that_another_run_creates_meanwhile_is_used(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    target = IcebergTarget(TABLE, StoreTimeouts())
    create: Callable[..., object] = getattr(target._catalog, step)

    def collide(*arguments: object) -> None:
        claim("faster")
        create(*arguments)
        raise RuntimeError("UNIQUE constraint failed")

    monkeypatch.setattr(target._catalog, step, collide)
    target.claim("slower", SETTINGS)
    assert target.last_number == 0
    assert target.columns() is not None


def test_catalog_that_refuses_is_no_collision(monkeypatch: pytest.MonkeyPatch) -> None:
    target = IcebergTarget(TABLE, StoreTimeouts())

    def refuse(*_arguments: object) -> None:
        raise RuntimeError("disk I/O error")

    monkeypatch.setattr(target._catalog, "create_table_if_not_exists", refuse)
    with pytest.raises(Exception, match="disk I/O error"):
        target.claim("run", SETTINGS)
