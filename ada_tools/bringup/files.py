# SPDX-License-Identifier: Apache-2.0
"""`python -m ada_tools.bringup.files`: write the generated files in config/."""

from __future__ import annotations

from pathlib import Path

from ada_dynamics import resources
from ada_tools.bringup import rviz, template
from ada_tools.bringup.pictures import PICTURES


def texts() -> dict[str, str]:
    """Text of each generated file, by its name in config/; needs PyYAML."""
    return {**{picture.file: rviz.render(picture) for picture in PICTURES.values()}, template.NAME: template.render()}


def write_files(folder: Path) -> list[Path]:
    """Write all generated files.

    Args:
        folder: output folder.
    """
    written = []
    for name, text in texts().items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    for made in write_files(resources.find("config", "README.md").parent):
        print(made)
