"""Texts that are no positions: anyone who may write to the target may have written them."""

import pytest

from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.pipeline.jobs import mirror_positions
from kctl.pipeline.jobs.mirror_positions import is_position, position_of


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "[" * 100_000,
        '{"offset":' + "9" * 5_000 + ',"topic_id":"","target_topic_id":""}',
        '{"offset":NaN,"log_end":NaN,"topic_id":"","target_topic_id":""}',
        '{"offset":1e999,"log_end":1e999,"topic_id":"","target_topic_id":""}',
        '{"offset":1,"log_end":-Infinity,"topic_id":"","target_topic_id":""}',
        '{"offset":1,"log_end":[],"topic_id":"","target_topic_id":""}',
    ],
    ids=lambda text: text[:40],
)
def test_text_that_is_no_position_is_ignored(text: str) -> None:
    committed = OffsetAndMetadata(7, text)
    assert not is_position(committed)
    assert position_of(committed).source.offset == 7
    assert mirror_positions._position_in(text.encode()) is None
