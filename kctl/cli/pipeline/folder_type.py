"""A folder on the command line. Shown by tests/cli/test_pipeline.py."""

from pathlib import Path
from typing import Any

import click


class FolderType(click.Path):
    """A folder; an empty text is refused, for as a path it would be the folder that one is in."""

    name = "folder"

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("a folder has a name", param, ctx)
        return super().convert(value, param, ctx)
