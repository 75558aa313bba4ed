"""One output: one plan, unless a chunk's own numbers are in it."""

from kctl.cli.formats.output import ChunkField, RecordOutput
from kctl.client.records import OutputField
from tests.unit.cli.formats.running import chunk_of, written

CHUNK = chunk_of((b"k", b"v", []), (None, b"w", []))


def test_without_a_chunks_numbers_there_is_one_plan_for_ever() -> None:
    output = RecordOutput([OutputField("value"), b"\r", b"\n"])
    assert output.plan_for(CHUNK) is output.plan_for(CHUNK._replace(high_watermark=7))
    assert output.plan_for(CHUNK).value_separator == b"\r\n"


def test_a_chunks_numbers_are_those_of_each_chunk() -> None:
    output = RecordOutput(
        [ChunkField("high_watermark"), b" ", ChunkField("log_start_offset", lambda n: b"<%d>" % n), b";"]
    )
    later = CHUNK._replace(high_watermark=1000)
    assert (written(output, CHUNK), written(output, later)) == (b"99 <11>;" * 2, b"1000 <11>;" * 2)
