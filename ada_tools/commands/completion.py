# SPDX-License-Identifier: Apache-2.0
"""`ada completion`: a script with which a shell completes commands, options and names of robots."""

from __future__ import annotations

import argparse
from typing import get_args

from ada_tools.commands.parser import parser
from ada_tools.completion import Shell, script

NAME = "completion"
SUMMARY = "a script with which your shell completes commands and names of robots"
DETAILS = """\
Print a script for a shell. Made once and kept in a file, it costs nothing when a terminal opens; make it anew after an
update of the package.

examples:
  ada completion bash > ~/.local/share/bash-completion/completions/ada
  ada completion zsh > ~/.ada_completion.zsh && echo 'source ~/.ada_completion.zsh' >> ~/.zshrc
  ada completion fish > ~/.config/fish/completions/ada.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=get_args(Shell), help="which reads the script")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    print(script(options.shell, parser()), end="")
    return 0
