# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node in files, as launch_ros takes them, and where such files are."""

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
    """Files of parameters, as launch_ros takes them; later ones win.

    ROS 2 collects blocks of the same key where the key comes first, and the last block that fits a node counts: with
    different wildcards in the first and the last file, a user's file stays between them, however it names the node.

    Attributes:
        own: parameters in the first file.
        file: the user's, in between.
        given: parameters in the last file.
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
            own: see above.
            file: see above.
            given: see above.
            is_written: whether files are wanted, or only what would be in them.
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
    """A new file that lives as long as this process. Args: the end of its name; what it holds."""
    if not _FOLDERS:
        _FOLDERS.append(Path(tempfile.mkdtemp(prefix="ada_dynamics_")))
        atexit.register(shutil.rmtree, _FOLDERS[0], ignore_errors=True)
    path = _FOLDERS[0] / f"{next(_COUNT)}_{name}"
    path.write_text(text, encoding="utf-8")
    return path
