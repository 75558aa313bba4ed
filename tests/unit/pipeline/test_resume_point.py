"""What shows that a topic is not the one that was copied: its id, or without ids the end of its log."""

import pytest

from kctl.pipeline.resume_point import ResumePoint


@pytest.mark.parametrize(
    ("point", "topic_id", "end", "problem"),
    [
        (ResumePoint(10, "one", 12), "one", 12, ""),
        (ResumePoint(10, "one", 12), "one", 10, ""),  # read_committed may end before what was seen uncommitted
        (ResumePoint(10, "one", 12), "one", 9, "t-3 ends at offset 9, but an earlier run found offset 10"),
        (
            ResumePoint(10, "one", 12),
            "two",
            99,
            "topic t was deleted and recreated: its topic ID was one, and is now",
        ),
        (ResumePoint(10, "", 12), "", 12, ""),
        (ResumePoint(10, "", 12), "", 11, "t-3 ends at offset 11, but an earlier run found offset 12"),
        (ResumePoint(10, "one", 12), "", 11, "t-3 ends at offset 11, but an earlier run found offset 12"),
        (ResumePoint(10), "two", 10, ""),  # kept by a version of kctl that did not know ids
        (ResumePoint(10), "two", 9, "t-3 ends at offset 9, but an earlier run found offset 10"),
    ],
)
def test_problem_names_recreated_and_truncated_topics(
    point: ResumePoint, topic_id: str, end: int, problem: str
) -> None:
    found = point.problem("t", 3, topic_id, end)
    assert found.startswith(problem) if problem else not found
