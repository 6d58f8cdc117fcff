# SPDX-License-Identifier: Apache-2.0
"""`ada completion`: the scripts, read by the shells themselves, offer commands, options and names of robots."""

import os
import shutil
import subprocess

import pytest

from ada_dynamics.robots.catalogue import CATALOGUE
from ada_tools import cli
from ada_tools.bringup import SETUPS
from ada_tools.commands import MODULES, parser
from ada_tools.commands.completion import KNOWN, places

BASH = """\
source {script}
COMP_WORDS=({words} ''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
COMP_WORDS[COMP_CWORD]={begun}
_ada
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = "setopt ksharrays\n" + BASH

OFFERS = [
    ("ada", "", {*MODULES}),
    ("ada", "ex", {"export"}),
    ("ada sim", "pa10", {name for name in CATALOGUE if name.startswith("pa10")}),
    ("ada sim", "--gr", {"--ground"}),
    ("ada sim pa10 --ground", "", {"auto", "on", "off"}),
    ("ada hw", "te", {"test"}),
    ("ada hw test", "khr", {"khr1", "khr3"}),
    ("ada up", "pa10_s", {name for name in SETUPS if name.startswith("pa10_s")}),
    ("ada reproduce", "T7.", {f"T7.{number}" for number in range(1, 8)}),
    ("ada record info", "--j", {"--json"}),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    made = {}
    for shell in ("bash", "zsh"):
        made[shell] = folder / shell
        with pytest.MonkeyPatch.context() as patch, made[shell].open("w") as file:
            patch.setattr("sys.stdout", file)
            assert cli.main(["completion", shell]) == 0
    return made


@pytest.mark.parametrize(("shell", "program"), [("bash", BASH), ("zsh", ZSH)], ids=("bash", "zsh"))
@pytest.mark.parametrize(("words", "begun", "offered"), OFFERS)
def test_a_shell_offers_what_can_come_next(scripts, shell, program, words, begun, offered, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    text = program.format(script=scripts[shell], words=words, begun=begun or "''")
    plain = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"]}[shell]
    result = subprocess.run(
        [shell, *plain, "-c", text],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert not result.stderr
    # zsh itself leaves out what begins otherwise, after the script.
    assert {word for word in result.stdout.split() if word.startswith(begun)} == offered


def test_every_command_has_its_place_and_every_known_argument_exists():
    found = {place.path: place for place in places(parser())}
    assert {*MODULES} <= found.keys()
    for (command, argument), names in KNOWN.items():
        assert names()
        if command:
            assert set(names()) <= set(found[command].words), argument
