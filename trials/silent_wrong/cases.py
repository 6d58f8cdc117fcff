# SPDX-License-Identifier: Apache-2.0
"""Families of cases: which robots are drawn, what is asked of them in how many states, and the lines of the report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from trials.silent_wrong import questions
from trials.silent_wrong import robots as make
from trials.silent_wrong.judge import NoJudge
from trials.silent_wrong.robots import Fault, Refused, Robot

AGREES, REFUSED, NO_JUDGE, WRONG = VERDICTS = ("agrees", "refused", "no judge", "SILENT WRONG")


class Family(NamedTuple):
    """Robots that are drawn in the same way."""

    name: str
    part: int  # of a hundred robots
    robot: Callable[[np.random.Generator], Robot]
    ask: Callable[[Robot, np.random.Generator], tuple[float, str]]
    states: int  # for each robot


def _specified(rng: np.random.Generator) -> Robot:
    return make.specified(int(rng.integers(len(make.SPECIFIED) + 2)), str(rng.choice(["generic", "auto"])))


def _linkage(rng: np.random.Generator) -> Robot:
    return make.linkage(str(rng.choice(make.WITH_SINGULAR_POSES)))


FAMILIES = (
    Family("texts", 66, make.from_text, questions.on_tree, 6),
    Family("trees", 15, partial(make.from_parts, kernel="generic"), questions.on_tree, 12),
    Family("texts with loops", 2, make.from_looped_text, questions.on_loops, 20),
    Family("loops", 2, make.from_looped_parts, questions.on_loops, 20),
    Family("loops near singular poses", 1, _linkage, questions.near_singular, 40),
    Family("arguments", 14, _specified, questions.of_arguments, 15),
)


def family_of(number: int) -> Family:
    """Case of the robot with a number."""
    place = number * 37 % 100  # every hundred robots have all families, mixed
    for family in FAMILIES:
        if place < family.part:
            return family
        place -= family.part
    raise AssertionError("the parts of the families make up a hundred")


def cases(seed: int, number: int) -> Iterator[dict[str, Any]]:
    """The lines of one robot: one for each state, or a single one where the robot itself is refused."""
    family = family_of(number)
    line: dict[str, Any] = {"seed": seed, "robot": number, "family": family.name}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = _verdict(lambda: family.robot(np.random.default_rng([seed, number])))
        if not isinstance(found, Robot):
            yield line | {"state": 0} | found
            return
        line |= {"of": found.name, "mutations": found.mutations}
        for state in range(family.states):
            rng = np.random.default_rng([seed, number, state])
            judged = _verdict(lambda rng=rng: family.ask(found, rng))  # type: ignore[misc]
            if isinstance(judged, tuple):
                figure, said = judged
                judged = {"verdict": AGREES if figure <= 1.0 else WRONG, "figure": figure, "reason": said}
            yield line | {"state": state} | judged


def _verdict(work: Callable[[], Any]) -> Any:
    """Result, or the final verdict."""
    try:
        return work()
    except Refused as refusal:
        return {"verdict": REFUSED, "reason": str(refusal)}
    except NoJudge as problem:
        return {"verdict": NO_JUDGE, "reason": str(problem)}
    except Fault as fault:
        return {"verdict": WRONG, "reason": str(fault)}
    except (ArithmeticError, ValueError, KeyError, RuntimeError, np.linalg.LinAlgError) as problem:
        return {"verdict": NO_JUDGE, "reason": f"the judge fails: {type(problem).__name__}: {problem}"[:200]}
