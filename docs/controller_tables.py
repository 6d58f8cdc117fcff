# SPDX-License-Identifier: Apache-2.0
"""Writes the tables in docs/controllers.md anew, from the controllers themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ada_controllers import CONTROLLERS, find
from ada_controllers.command_shaping import ShapingSettings
from ada_robot.settings import Setting, fields_of

PAGE = Path(__file__).parent / "controllers.md"
SHAPING = "shaping"
_SUMMARY_HEAD = "| controller | function | commands | references |\n|---|---|---|---|\n"
_SETTINGS_HEAD = "| setting | default | allowed | meaning |\n|---|---|---|---|\n"


def summary() -> str:
    """All controllers, a row each."""
    return _SUMMARY_HEAD + "".join(_about(find(name)) for name in CONTROLLERS)


def _about(cls: type[Any]) -> str:
    follows = ", ".join(f"`{kind.__name__}`" for kind in cls.REFERENCES) or "nothing"
    return f"| [`{cls.NAME}`](#{cls.NAME}) | {cls.SUMMARY} | {cls.KIND} | {follows} |\n"


def settings(name: str) -> str:
    """The settings of a controller, or those that all have in common."""
    cls = ShapingSettings if name == SHAPING else find(name).SETTINGS
    return _SETTINGS_HEAD + "".join(_row(one) for one in fields_of(cls))


def _row(one: Setting) -> str:
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    shown = str(default).lower() if isinstance(default, bool) else default if default != "" else '""'
    return f"| `{one.name}` | `{shown}` | {one.allowed} | {one.description} |\n"


def renewed(text: str) -> str:
    """The page with its tables, each behind the line `<!-- controllers -->` or `<!-- settings: NAME -->`, made anew."""
    tables = {"<!-- controllers -->\n": summary()}
    tables |= {f"<!-- settings: {name} -->\n": settings(name) for name in (*CONTROLLERS, SHAPING)}
    for marker, table in tables.items():
        text = re.sub(re.escape(marker) + r"(?:\|.*\n)*", lambda _, new=marker + table: new, text)
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
