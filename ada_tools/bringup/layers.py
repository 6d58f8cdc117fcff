# SPDX-License-Identifier: Apache-2.0
"""Parameter files of a node in layers, as passed to launch_ros."""

from __future__ import annotations

import atexit
import itertools
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ada_tools.bringup.processes import ParameterValue, params_text

_COUNT = itertools.count(1)
_FOLDERS: list[Path] = []


class Layers(list[str]):
    """Parameter files for launch_ros, in increasing priority.

    ROS 2 merges blocks with the same key at the position of the first one, and the last matching block counts.
    Different wildcards in the first and last file keep the user's file between them, whatever names it uses.

    Attributes:
        own: parameters of the setup, in the first file.
        file: parameter file of the user, in between.
        given: parameters from given arguments, in the last file.
    """

    def __init__(
        self,
        own: Mapping[str, ParameterValue],
        file: Path | None,
        given: Mapping[str, ParameterValue],
        *,
        is_written: bool,
    ) -> None:
        """Write the files.

        Args:
            own: parameters of the setup.
            file: parameter file of the user.
            given: parameters from given arguments.
            is_written: False: keep the values only.
        """
        super().__init__()
        self.own, self.file, self.given = dict(own), file, dict(given)
        if not is_written:
            return
        for key, values in (("/**", own), ("", {}), ("/**/*", given)):
            if not key and file is not None:
                self.append(str(file))
            elif values:
                self.append(str(written("parameters.yaml", params_text(values, key))))


def written(name: str, text: str) -> Path:
    """Write a temporary file that is deleted at the end of this process.

    Args:
        name: end of the file name.
        text: content.
    """
    if not _FOLDERS:
        _FOLDERS.append(Path(tempfile.mkdtemp(prefix="ada_dynamics_")))
        atexit.register(shutil.rmtree, _FOLDERS[0], ignore_errors=True)
    path = _FOLDERS[0] / f"{next(_COUNT)}_{name}"
    path.write_text(text, encoding="utf-8")
    return path
