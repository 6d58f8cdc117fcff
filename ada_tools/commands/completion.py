# SPDX-License-Identifier: Apache-2.0
"""`ada completion`: shell script that completes commands, options and robot names."""

from __future__ import annotations

import argparse
from typing import get_args

from ada_tools.commands.parser import parser
from ada_tools.completion import Shell, script

NAME = "completion"
SUMMARY = "shell script that completes commands and robot names"
DETAILS = """\
Print a completion script for a shell. Store it in a file, and generate it again after an
update of the package.

examples:
  ada completion bash > ~/.local/share/bash-completion/completions/ada
  ada completion zsh > ~/.ada_completion.zsh && echo 'source ~/.ada_completion.zsh' >> ~/.zshrc
  ada completion fish > ~/.config/fish/completions/ada.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=get_args(Shell), help="target shell")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    print(script(options.shell, parser()), end="")
    return 0
