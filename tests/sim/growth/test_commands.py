"""Growth of the cost of commands: lines, requests, and bytes at sizes n, 2n, and 4n."""

from pathlib import Path

import pytest

from kctl.cli.command_tree import read_tree
from kctl.cli.exit_codes import ExitCode
from tests.sim.growth.command_table import ROWS, WITHOUT_A_CLUSTER, Row
from tests.sim.growth.scenes import SCENES, SETTINGS
from tests.sim.kit import SimCluster
from tests.sim.kit.command_lines import run_line, use_hub
from tests.sim.virtual import Hub
from tests.support.growth import Cost, cost_of, exponents_of, wrong_exponents

SIZE, LARGE_SIZE = 16, 60
LARGE_SLACK = 0.4


def cost_at(monkeypatch: pytest.MonkeyPatch, folder: Path, row: Row, n: int) -> Cost:
    """Return what a line costs on a cluster of size n."""
    scene, file = SCENES[row.scene], folder / "input"
    file.write_bytes(row.stdin(n))
    with Hub(seed=3) as hub:
        cluster = SimCluster(hub, topics=scene.topics(n), nodes=scene.nodes(n), settings=SETTINGS)
        use_hub(monkeypatch, cluster)
        costs: list[Cost] = []

        def call() -> None:
            ended = run_line(cluster, row.words(n, file), row.stdin(n), api_timeout="60s")
            assert "Traceback" not in ended.stderr, ended
            assert ended.code in (ExitCode.OK, ExitCode.PARTIAL_FAILURE), ended

        def app() -> None:
            with cluster.admin() as admin:
                scene.fill(cluster, admin, n)
            costs.append(cost_of(cluster.network, call))

        cluster.run(app)
        return costs[0]


def costs_of(monkeypatch: pytest.MonkeyPatch, folder: Path, row: Row, size: int) -> list[Cost]:
    sizes = [size * factor for factor in (1, 2, 4)]
    cost_at(monkeypatch, folder, row, sizes[0])  # imports and caches
    return [cost_at(monkeypatch, folder, row, n) for n in sizes]


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.line}, {row.scene}")
def test_cost_of_command_grows_as_its_row_says(row: Row, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    costs = costs_of(monkeypatch, tmp_path, row, SIZE)
    assert wrong_exponents(exponents_of(costs), row.exponents) == {}, costs


@pytest.mark.nightly
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.line}, {row.scene}")
def test_cost_of_command_on_a_larger_cluster_is_not_superlinear(
    row: Row, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Numbers of more digits and requests of limited size cost more here than the rows say for small clusters."""
    costs = costs_of(monkeypatch, tmp_path, row, LARGE_SIZE)
    found, expected = exponents_of(costs), row.exponents
    assert found.lines <= max(expected.lines, expected.bytes, 1) + LARGE_SLACK, costs
    assert found.bytes <= max(expected.bytes, 1) + LARGE_SLACK, costs
    assert costs[-1].requests <= 4 ** max(expected.requests, 1) * costs[0].requests, costs


@pytest.mark.slow
def test_produce_executes_no_python_for_further_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Compiled code measures and encodes the lines of a block together."""
    row = next(row for row in ROWS if row.line == "produce t")
    _warm_up, few, many = (cost_at(monkeypatch, tmp_path, row, n) for n in (500, 500, 2000))
    lines_more = row.stdin(2000).count(b"\n") - row.stdin(500).count(b"\n")
    assert many.lines - few.lines < lines_more / 20, (few, many)


def test_each_command_is_in_the_table() -> None:
    commands = {command.name.removeprefix("kctl ") for command in read_tree().walk() if command.runs}
    elsewhere = {name for name in commands if name in WITHOUT_A_CLUSTER or name.split()[0] in WITHOUT_A_CLUSTER}
    assert commands - elsewhere == {row.command for row in ROWS}
