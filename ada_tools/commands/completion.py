# SPDX-License-Identifier: Apache-2.0
"""`ada completion`: shell script that completes commands, options and robot names, from the argument parsers.

The script calls no program, so that completion is immediate.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ada_dynamics.robots.catalogue import CATALOGUE
from ada_hardware.registry import DEVICES
from ada_tools.bringup import SETUPS
from ada_tools.commands import parser
from ada_tools.scenario import GROUPS, names

NAME = "completion"
SUMMARY = "shell script that completes commands and robot names"
DETAILS = """\
Print a completion script for a shell. Store it in a file, and generate it again after an
update of the package.

examples:
  ada completion bash > ~/.local/share/bash-completion/completions/ada
  ada completion zsh > ~/.ada_completion.zsh && echo 'source ~/.ada_completion.zsh' >> ~/.zshrc
"""

# Values of arguments without choices, by command ("" for any) and argument name.
KNOWN: Mapping[tuple[str, str], Callable[[], Sequence[str]]] = {
    ("", "robot"): lambda: list(CATALOGUE),
    ("", "device"): lambda: list(DEVICES),
    ("check", "files"): lambda: list(CATALOGUE),
    ("up", "name"): lambda: [*SETUPS, *(short for setup in SETUPS.values() for short in setup.shorthands)],
    ("reproduce", "names"): lambda: ["all", *GROUPS, *names()],
}
_ZSH = """\
whence compdef > /dev/null || { autoload -Uz compinit && compinit; }
autoload -Uz bashcompinit && bashcompinit
"""
_BASH = """\
_ada() {{
    local at="" word i words="" choices="" options=""
    local cur="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${{at:+$at }}${{COMP_WORDS[i]}}"
        case "$word" in
            {paths}) at="$word" ;;
        esac
    done
    case "$at" in
{places}
    esac
    case "$at $before" in
{values}
        *) case "$cur" in -*) choices="$options" ;; *) choices="$words" ;; esac ;;
    esac
    COMPREPLY=($(compgen -W "$choices" -- "$cur"))
}}
complete -o default -F _ada ada
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=("bash", "zsh"), help="target shell")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    found = list(places(parser()))
    paths = "|".join(shlex.quote(one.path) for one in found if one.path)
    shown, values = [], []
    for one in found:
        words, flags = " ".join(one.words), " ".join(one.options)
        shown.append(f"        {shlex.quote(one.path)}) words={shlex.quote(words)} options={shlex.quote(flags)} ;;")
        for option, choices in one.options.items():
            if choices is not None:
                place = shlex.quote(f"{one.path} {option}")
                values.append(f"        {place}) choices={shlex.quote(' '.join(choices))} ;;")
    text = _BASH.format(paths=paths, places="\n".join(shown), values="\n".join(values))
    print((_ZSH if options.shell == "zsh" else "") + text, end="")
    return 0


@dataclass
class CompletionEntry:
    """Possible words after a command.

    Attributes:
        path: words of the command, such as "hw test"; "" for `ada`.
        words: commands, names and choices.
        options: options with their choices: empty for free values such as files, None for a flag.
    """

    path: str
    words: list[str] = field(default_factory=list)
    options: dict[str, list[str] | None] = field(default_factory=dict)


def places(parser: argparse.ArgumentParser, path: str = "") -> Iterator[CompletionEntry]:
    """Completions of a parser and its subparsers, recursively."""
    place, below = CompletionEntry(path), []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            place.words += action.choices
            below = [(f"{path} {name}".strip(), one) for name, one in action.choices.items()]
        elif action.option_strings:
            place.options |= dict.fromkeys(
                action.option_strings, None if action.nargs == 0 else _choices_of(action, path)
            )
        else:
            place.words += _choices_of(action, path)
    yield place
    for inner, one in below:
        yield from places(one, inner)


def _choices_of(action: argparse.Action, path: str) -> list[str]:
    if action.choices is not None:
        return [str(one) for one in action.choices]
    known = KNOWN.get((path, action.dest)) or KNOWN.get(("", action.dest))
    return list(known()) if known else []
