# SPDX-License-Identifier: Apache-2.0
"""Writers of models in URDF, MJCF and formats for loop joints; `docs/loops.md` compares the formats."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ada_dynamics.errors import InputError, check_name
from ada_dynamics.model.model import Model
from ada_dynamics.robots.addresses import with_lasting_addresses
from ada_dynamics.robots.readers.urdf_loops import KINDS, URDF_PLUS_KINDS
from ada_dynamics.robots.writers.draft import Draft, Inexpressible
from ada_dynamics.robots.writers.mjcf import mjcf
from ada_dynamics.robots.writers.urdf import constraint, loop_joint, sidecar, to_json, to_yaml, urdf_plus, with_elements
from ada_dynamics.structured_text.files import atomic_write

__all__ = ["SPELLINGS", "Inexpressible", "Rendered", "Spelling", "render", "write"]

_log = logging.getLogger("ada_dynamics")

_SIDECAR_ENDINGS = (".yaml", ".yml", ".json")


class Spelling(NamedTuple):
    """A format for models with loops: one line on it, and the function that returns texts by file ending."""

    summary: str
    make: Callable[[Draft], dict[str, str]]


SPELLINGS: Mapping[str, Spelling] = MappingProxyType(
    {
        "sidecar": Spelling("a URDF and a YAML (or JSON) file with the loops; all loop types", sidecar),
        "constraint": Spelling(
            "<constraint> inside a URDF (ros/urdfdom#264); all loop types", with_elements(KINDS, constraint)
        ),
        "loop_joint": Spelling(
            "<loop_joint> inside a URDF (Drake, Isaac Sim); all loop types", with_elements(KINDS, loop_joint)
        ),
        "urdf_plus": Spelling(
            "URDF+ <loop>; revolute, prismatic, planar, fixed",
            with_elements(URDF_PLUS_KINDS, urdf_plus, "loop_joint, constraint or sidecar"),
        ),
        "mjcf": Spelling("MuJoCo's XML; revolute, spherical, fixed (soft constraints in MuJoCo)", mjcf),
    }
)


@dataclass(frozen=True)
class Rendered:
    """Texts of a model's files.

    Attributes:
        texts: text by file ending or file name, the main file first.
        notes: parts of the model that are left out or written in another form.
    """

    texts: dict[str, str]
    notes: list[str] = field(default_factory=list)


def render(model: Model, spelling: str) -> Rendered:
    """Write a model as text.

    Args:
        model: the model.
        spelling: name of the format, a key of SPELLINGS.

    Returns:
        The texts by file ending, and notes.

    Raises:
        InputError: the format is unknown.
        Inexpressible: the format cannot represent the model; the message names each part and an alternative.
    """
    check_name("spelling", spelling, SPELLINGS)
    draft = Draft(model)
    texts = SPELLINGS[spelling].make(draft)
    if draft.refused:
        raise Inexpressible(spelling, draft.refused)
    return Rendered(texts, draft.notes)


def write(model: Model, path: str | os.PathLike[str], spelling: str = "sidecar") -> list[Path]:
    """Write a model to files that `load` reads; the notes of `render` are logged.

    Example::

        write(model, "robot.urdf", "constraint")         # robot.urdf
        write(model, "robot.urdf", "sidecar")            # robot.urdf and robot.loops.yaml
        write(model, "robot.loops.yaml", "sidecar")      # the loops only; a .json file, too

    Args:
        model: the model.
        path: the main file; a second file has the same name with another ending.
        spelling: name of the format, a key of SPELLINGS.

    Returns:
        The files, the main one first.

    Raises:
        InputError: the format is unknown, or a file cannot be written.
        Inexpressible: the format cannot represent the model; nothing is written.
    """
    target = Path(path)
    rendered = texts_for(model, target, spelling)
    for note in rendered.notes:
        _log.info("%s: %s", target.name, note)
    return save(rendered, target.parent)


def save(rendered: Rendered, folder: Path) -> list[Path]:
    """Write texts to the files that their keys name."""
    for name, text in rendered.texts.items():
        with atomic_write(folder / name, InputError) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in rendered.texts]


def texts_for(model: Model, target: Path, spelling: str) -> Rendered:
    """Return the texts by file name for a given main file."""
    ending = target.suffix.lower()
    if spelling == "sidecar" and ending in _SIDECAR_ENDINGS:
        return Rendered({target.name: to_json(model) if ending == ".json" else to_yaml(model)})
    rendered = render(model, spelling)
    (_, main), *others = rendered.texts.items()
    main, changed = with_lasting_addresses(main, model, target)
    stem = target.name[: -len(ending)] if ending else target.name
    texts = {target.name: main, **{stem + own_ending: text for own_ending, text in others}}
    moved = f"{changed} meshes have file:// addresses, as their relative addresses are invalid from {target}."
    return Rendered(texts, [*rendered.notes, *([moved] if changed else [])])
