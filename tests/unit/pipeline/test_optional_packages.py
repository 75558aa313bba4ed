"""Jobs without the optional packages: --help and --dry-run work, or name the package that is missing."""

import json
import re
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec
missing = set(json.loads(sys.argv[1]))
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in missing else find_spec(name, *more)

from kctl.cli.app import main

for arguments in json.loads(sys.argv[2]):
    sys.argv = ["kctl", "pipeline", *arguments]
    try:
        code = main()
    except SystemExit as e:
        code = e.code
    print(f"code {code}", file=sys.stderr, flush=True)
"""
MISSING = ["pyarrow", "pyspark", "deltalake", "pyiceberg", "obstore", "numpy", "pandas", "jq", "fastavro", "google"]
REFUSING = ["-b", "127.0.0.1:1", "--api-timeout", "50ms"]
JOBS = ["export", "import", "mirror", "replay", "stats", "status", "sync", "verify"]
DRY_RUNS = {
    "folder": (["export", "t", "--to", "no-such-folder"], 11),
    "column": (["export", "t", "--to", "no-such-folder", "--partition-by", "hour(value)"], 2),
    "delta": (["export", "t", "--to", "delta:no-such-folder"], 2),
    "iceberg": (["export", "t", "--to", "iceberg:a.b.c"], 2),
    "store": (["export", "t", "--to", "s3://b/c"], 2),
    "import": (["import", "no-such-folder"], 2),
    "import of a table": (["import", "delta:no-such-folder", "--progress", "no-such-folder"], 2),
    "mirror": (["mirror", "t", "--to-topic", "u"], 11),
    "replay": (["replay", "t", "--to-topic", "u"], 2),
    "replay with jq": (["replay", "t", "--to-topic", "u", "--jq", ".key"], 2),
    "stats": (["stats", "t"], 11),
    "sync": (["sync", "t", "--to", "no-such-folder"], 11),
    "sync to a table": (["sync", "t", "--to", "delta:no-such-folder", "--checkpoint", "no-such-folder"], 2),
    "verify": (["verify", "t", "--to-topic", "u"], 11),
}


def run_without_extras(calls: list[list[str]]) -> list[tuple[str, int]]:
    """Return the messages and the exit code of each call, all of one process."""
    arguments = [sys.executable, "-c", PROGRAM, json.dumps(MISSING), json.dumps(calls)]
    text = subprocess.run(arguments, capture_output=True, check=True, text=True).stderr
    found = re.findall(r"(.*?)^code (\d+)\n", text, re.DOTALL | re.MULTILINE)
    assert len(found) == len(calls), text
    return [(messages, int(code)) for messages, code in found]


@pytest.mark.slow
def test_jobs_without_optional_packages_work_or_name_the_package() -> None:
    helps = [[job, "--help"] for job in JOBS]
    assert run_without_extras(helps) == [("", 0)] * len(JOBS)
    found = run_without_extras([[*call, "--dry-run", *REFUSING] for call, _ in DRY_RUNS.values()])
    wrong = {
        name: messages
        for (name, (_, wanted)), (messages, code) in zip(DRY_RUNS.items(), found, strict=True)
        if code != wanted or "which is a bug" in messages
    }
    assert wrong == {}
