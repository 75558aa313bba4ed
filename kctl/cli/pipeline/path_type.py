"""A file or a folder on the command line. Shown by tests/cli/test_pipeline.py."""

from pathlib import Path
from typing import Any

import click


class PathType(click.Path):
    """A path; an empty text, as of a variable that is not set, is refused: it would be the folder that one is in."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("an empty path", param, ctx)
        return super().convert(value, param, ctx)
