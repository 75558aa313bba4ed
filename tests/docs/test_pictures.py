"""The pictures of README and docs: drawn from what the tool shows, kept as SVG, and compared with what is kept.

After a wanted change: `KCTL_STORE_PICTURES=1 python -m pytest tests/docs/test_pictures.py`, then look at them.
"""

import io
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from kctl.cli.exit_codes import ExitCode
from kctl.cli.probe.view.frame import Scene, draw
from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConnectionRefused, ConnectTimeout
from kctl.client.events import Phase, Target
from kctl.sandbox import ClusterSettings, Sandbox
from tests.cli.groups_scene import commit, fill
from tests.cli.terminal import Terminal
from tests.docs.pages import ROOT, Shell, Step
from tests.sim.kit import SimCluster, run_with_admin
from tests.support.in_process import run_in_process
from tests.unit.cli.groups.test_lag_frame import drawn_lag
from tests.unit.cli.probe.view.scenario import NOW_MS, located, ready, report

PICTURES = ROOT / "docs" / "pictures"
COLUMNS = 116
_SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px; }}
.{unique_id}-matrix text {{ line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def drawn(name: str, lines: Sequence[Text]) -> str:
    """Return an SVG that needs no font or file from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="standard", force_terminal=True)
    for line in lines:
        console.print(line, soft_wrap=False, no_wrap=True)
    svg = console.export_svg(title=f"kctl {name}", code_format=_SVG, unique_id=f"kctl-{name}")
    return re.sub(r"[ \t]+\n", "\n", svg)


def probe_scene() -> Scene:
    """One broker works, one hangs after it has accepted, one refuses."""
    good = Target(1, -1, "kafka-a.example", 9092, "10.0.0.1:9092")
    hung = Target(2, -2, "kafka-b.example", 9092, "10.0.0.2:9092")
    down = Target(3, -3, "kafka-c.example", 9092, "10.0.0.3:9092")
    expired = ConnectTimeout("no response within 2s (--connect-timeout)", limit_ms=2000, elapsed_ms=2000)
    refusal = ConnectionRefused("connection refused (RST after 1 ms)", hint="nothing listens there")
    phases_ms = {Phase.DNS: 30, Phase.TCP: 140}
    return Scene(
        [
            ready(good, 1),
            report(hung, phases_ms, Phase.APIVERSIONS, located(expired, hung, Phase.APIVERSIONS), 2000),
            report(down, {Phase.DNS: 35}, Phase.TCP, located(refusal, down, Phase.TCP), 36),
        ],
        NOW_MS,
    )


def probe_lines(folder: Path) -> list[Text]:
    prompt = Text("$ kctl probe -b kafka-a.example:9092,kafka-b.example:9092,kafka-c.example:9092 --connect-timeout 2s")
    return [prompt, *draw(probe_scene(), COLUMNS, 30)]


def consume_lines(folder: Path) -> list[Text]:
    commands = [
        "printf 'ann:2 apples\\nbob:1 pear\\nann:3 plums\\n' | kctl produce orders -f '%k:%v\\n' -p 0",
        "kctl consume orders -o start -e -f '%t-%p@%o  %k bought %v\\n'",
        "kctl consume orders -o start -e --grep 'k:^ann$' -f '%k %v{json} %H headers\\n'",
        "kctl consume orders -o 0:2 -f '%o %v{hex}\\n'",
    ]
    lines: list[Text] = []
    with (
        Sandbox(nodes=3, topics={"orders": 1}).serve() as served,
        Shell(folder, {"KCTL_BOOTSTRAP_SERVERS": served.bootstrap}, {}) as shell,
    ):
        for command in commands:
            lines.append(Text(f"$ {command}", style="bold"))
            lines += [Text(line) for line in shell.run(Step(command, [], 0)).splitlines()]
    return lines


def tables_lines(folder: Path) -> list[Text]:
    lines: list[Text] = []
    with Sandbox(nodes=3, topics={"orders": 3, "payments": 2}).serve() as served:
        fill(served.bootstrap, "orders", {0: 40, 1: 38, 2: 45})
        fill(served.bootstrap, "payments", {0: 7})
        commit(served.bootstrap, "billing", {("orders", 0): 40, ("orders", 1): 12, ("orders", 2): 45})
        commit(served.bootstrap, "\u65e5\u672c\u30b0\u30eb\u30fc\u30d7", {("payments", 0): 3})
        environ = {"KCTL_BOOTSTRAP_SERVERS": served.bootstrap}
        for command in ("topics list", "groups list", "topics describe order"):
            lines.append(Text(f"$ kctl {command}", style="bold"))
            with Terminal(*command.split(), columns=COLUMNS, environ=environ, with_stderr=True) as terminal:
                lines += [Text.from_ansi(line) for line in terminal.read_all().decode().splitlines()]
    return lines


def doctor_lines(folder: Path) -> list[Text]:
    """A run in virtual time: a replica is not in sync, and a group without members is behind."""
    shown: list[str] = []

    def look(sim: SimCluster, admin: Admin) -> None:
        with sim.producer() as producer:
            for number in range(90):
                producer.send("orders", b"%d" % number, partition=number % 3)
        committed = {TopicPartition("orders", number): number * 10 for number in range(3)}
        admin.alter_group_offsets("billing", committed).raise_first()
        follower = next(node for node in sim.partition(0, "payments").replicas if node != sim.leader(0, "payments"))
        sim.sandbox.hold_follower("payments", 0, follower)
        words = ("doctor", "-b", sim.bootstrap, "--api-timeout", "30s", "--request-timeout", "5s")
        ended = run_in_process(*words, environ={}, runtime=sim.runtime, stdout_is_tty=True, columns=COLUMNS)
        assert (ended.code, ended.stderr) == (ExitCode.PARTIAL_FAILURE, "")
        shown.extend(ended.stdout.decode().splitlines())

    settings = ClusterSettings(default_replication_factor=2, min_insync_replicas=2)
    run_with_admin(look, topics={"orders": 3, "payments": 2}, settings=settings)
    return [Text("$ kctl doctor", style="bold"), *(Text.from_ansi(line) for line in shown)]


def lag_lines(folder: Path) -> list[Text]:
    """The view of `groups lag --watch` after 16 samples: one partition falls behind, and one catches up."""
    return [Text("$ kctl groups lag billing --watch", style="bold"), *drawn_lag(COLUMNS)]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("probe", probe_lines),
        ("consume", consume_lines),
        ("tables", tables_lines),
        ("doctor", doctor_lines),
        ("lag", lag_lines),
    ],
)
def test_pictures_are_what_the_tool_shows(name: str, lines: Callable[[Path], list[Text]], tmp_path: Path) -> None:
    svg = drawn(name, lines(tmp_path))
    kept = PICTURES / f"{name}.svg"
    if os.environ.get("KCTL_STORE_PICTURES"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(svg)
    assert svg == kept.read_text()
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
