# SPDX-License-Identifier: Apache-2.0
"""Shell completion of `ada` from the argument parsers: scripts for bash, zsh and fish.

The scripts are generated without shtab, to complete robots and devices by name and to need no further package. They
call no program, so that completion is immediate.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ada_dynamics.robots.catalogue import CATALOGUE
from ada_hardware.registry import DEVICES
from ada_tools.bringup import SETUPS
from ada_tools.scenario import GROUPS, names

Shell: TypeAlias = Literal["bash", "zsh", "fish"]

# Values of arguments without choices, by command ("" for any) and argument name.
KNOWN: Mapping[tuple[str, str], Callable[[], Sequence[str]]] = {
    ("", "robot"): lambda: list(CATALOGUE),
    ("", "device"): lambda: list(DEVICES),
    ("check", "files"): lambda: list(CATALOGUE),
    ("up", "name"): lambda: [*SETUPS, *(short for setup in SETUPS.values() for short in setup.shorthands)],
    ("reproduce", "names"): lambda: ["all", *GROUPS, *names()],
}


@dataclass
class CompletionEntry:
    """Possible words after a command.

    Attributes:
        path: words of the command, such as "hw test"; "" for `ada`.
        words: commands, names and choices with their help.
        options: options with their help.
        values: choices of options; empty for free values such as files.
    """

    path: str
    words: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)


def places(parser: argparse.ArgumentParser, path: str = "") -> Iterator[CompletionEntry]:
    """Completions of a parser and its subparsers, recursively."""
    place, below = CompletionEntry(path), []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {one.dest: one.help or "" for one in action._choices_actions}
            place.words |= {name: about.get(name, "") for name in action.choices}
            below = [(f"{path} {name}".strip(), one) for name, one in action.choices.items()]
        elif action.option_strings:
            place.options |= dict.fromkeys(action.option_strings, _help_of(action))
            if action.nargs != 0:
                place.values |= dict.fromkeys(action.option_strings, _choices_of(action, path))
        else:
            place.words |= dict.fromkeys(_choices_of(action, path), _help_of(action))
    yield place
    for inner, one in below:
        yield from places(one, inner)


def _choices_of(action: argparse.Action, path: str) -> list[str]:
    if action.choices is not None:
        return [str(one) for one in action.choices]
    known = KNOWN.get((path, action.dest)) or KNOWN.get(("", action.dest))
    return list(known()) if known else []


def _help_of(action: argparse.Action) -> str:
    """Help of an action, without details."""
    return (action.help or "").partition(";")[0].partition(" (")[0].replace("%%", "%")


def script(shell: Shell, parser: argparse.ArgumentParser) -> str:
    """Completion script.

    Args:
        shell: target shell.
        parser: parser of all commands.
    """
    found = list(places(parser))
    if shell == "fish":
        return _fish(found)
    return (_ZSH if shell == "zsh" else "") + _bash(found)


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


def _bash(found: Sequence[CompletionEntry]) -> str:
    paths = "|".join(shlex.quote(one.path) for one in found if one.path)
    shown, values = [], []
    for one in found:
        words, options = " ".join(one.words), " ".join(one.options)
        shown.append(f"        {shlex.quote(one.path)}) words={shlex.quote(words)} options={shlex.quote(options)} ;;")
        for option, choices in one.values.items():
            values.append(f"        {shlex.quote(f'{one.path} {option}')}) choices={shlex.quote(' '.join(choices))} ;;")
    return _BASH.format(paths=paths, places="\n".join(shown), values="\n".join(values))


_FISH = """\
set -g __ada_places {paths}
function __ada_at --argument-names wanted
    set -l at ""
    for word in (commandline -opc)[2..-1]
        set -l longer (string trim -- "$at $word")
        contains -- $longer $__ada_places; and set at $longer
    end
    test "$at" = "$wanted"
end
{lines}
"""


def _fish(found: Sequence[CompletionEntry]) -> str:
    all_paths = [one.path for one in found if one.path]
    paths = " ".join(map(_fish_quoted, all_paths))
    lines = []
    for one in found:
        here = f"complete -c ada -n {_fish_quoted(f'__ada_at {_fish_quoted(one.path)}')}"
        if any(f"{one.path} {word}".strip() in all_paths for word in one.words):
            lines.append(f"{here} -f")  # a command is required, not a file
        lines += [f"{here} -a {_fish_quoted(word)} -d {_fish_quoted(about)}" for word, about in one.words.items()]
        for option, about in one.options.items():
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            takes = ""
            if option in one.values:
                choices = " ".join(one.values[option])
                takes = f" -x -a {_fish_quoted(choices)}" if choices else " -r"
            lines.append(f"{here} {kind}{takes} -d {_fish_quoted(about)}")
    return _FISH.format(paths=paths, lines="\n".join(lines))


def _fish_quoted(text: str) -> str:
    """Text in single quotes for fish, which has two escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ") + "'"
