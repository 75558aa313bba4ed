"""What an import remembers by name."""

from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.jobs import file_import


def test_long_topics_that_begin_alike_have_marks_of_their_own() -> None:
    """With one mark for both, the second topic would count as imported."""
    marks = {file_import._mark(ExportedRange("t" * 200 + end, 0, 0, 10, 10, ()), "id") for end in "ab"}
    assert len(marks) == 2
    assert max(map(len, marks)) < 255
