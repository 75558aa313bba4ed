"""The archive of Spark's classes: the JVM of a session of kctl's and those of a cluster map most of theirs from it."""

import os
import re
from pathlib import Path

import pytest

from kctl.pipeline.running import open_session
from kctl.pipeline.session import SessionOptions
from tests.pipeline.conftest import LocalSpark
from tests.pipeline.spark_classes import spark_java

MAPPED = "source: shared objects file (top)"


def test_session_maps_most_of_its_classes(
    local_spark: LocalSpark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_spark.close()
    assert os.environ["JDK_JAVA_OPTIONS"] == spark_java()
    noted = f"-Xlog:class+load:file={tmp_path}/%p"
    monkeypatch.setenv("JDK_JAVA_OPTIONS", f"{spark_java()} {noted}")
    with open_session(SessionOptions(master="local[1]"), "kctl tests") as session:
        assert session.parallelism == 1
    longest = max((path.read_text() for path in tmp_path.iterdir()), key=len)
    sources = re.findall(r"\] org\.apache\.spark\.[^ /]+ (source: .*)", longest)
    assert len(sources) > 500
    assert sources.count(MAPPED) > 0.9 * len(sources)
