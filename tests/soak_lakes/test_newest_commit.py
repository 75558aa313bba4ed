"""The number of the newest commit grows with each commit, even if manifests are merged."""

from pathlib import Path

from kctl.pipeline.export_files.folder import ExportFolder
from kctl.pipeline.export_files.manifests import FANOUT, MANIFESTS
from tests.pipeline.stored_exports import SETTINGS
from tests.soak_lakes.lakes import newest_commit


def test_number_grows_with_each_round_while_manifests_are_merged(tmp_path: Path) -> None:
    folder = ExportFolder(tmp_path)
    folder.claim("run", SETTINGS)
    counts, numbers = [], []
    for number in range(1, FANOUT + 3):
        folder.commit_round([folder.begin_round(number)], SETTINGS, [])
        names = [path.name for path in (tmp_path / MANIFESTS).iterdir()]
        counts.append(len(names))
        numbers.append(newest_commit(names))
    assert numbers == list(range(1, FANOUT + 3))
    assert counts[-1] < max(counts), "manifests were merged"


def test_logs_of_delta_and_metadata_of_iceberg_have_numbers_and_other_files_have_none() -> None:
    assert newest_commit(["00000000000000000002.json", "00000000000000000001.json", "_last_checkpoint"]) == 2
    assert newest_commit(["00003-0aef-11.metadata.json", "snap-77-0-aef.avro", "aef-m0.avro"]) == 3
    assert newest_commit(["snap-77-0-aef.avro"]) == -1
