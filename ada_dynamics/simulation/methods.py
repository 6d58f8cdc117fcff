# SPDX-License-Identifier: Apache-2.0
"""Integration methods as Butcher tableaus, and the choice of a method by the stiffness of the forces.

All methods integrate x = [q; v] with ẋ = [q̇(q, v); a]. Within a step a quaternion is four free numbers; it is
normalized after the step, which keeps the order of the method (Hairer, Lubich, Wanner: Geometric Numerical
Integration, IV.4).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import invalid

IntegratorName: TypeAlias = Literal["auto", "rkf45", "rk4", "semi_implicit", "dop853", "tsit5"]


@dataclass(frozen=True, eq=False)
class Method:
    """An integration method.

    Attributes:
        name: name of the method.
        order: order of the method; the error of a step is of this order plus one in its length.
        A: stage coefficients, one row per stage; empty for a direct method, whose kernel takes the whole step.
        b: weights.
        c: nodes.
        errors: weights of two error estimates over all stages and the rate at the end of the step; zeros if a pair has
            one estimate; None for fixed steps.
        roots: number of successive square roots that approximate the exponent of the step length control; two to this
            power is close to the order of the estimate.
        stable_to: bound of h λ up to which a decay with the rate λ is stable.
    """

    name: IntegratorName
    order: int
    A: Array
    b: Array
    c: Array
    errors: Array | None = None
    stable_to: float = np.inf
    roots: int = 0

    @property
    def stages(self) -> int:
        """Number of rates per step."""
        return len(self.b)

    @property
    def is_adaptive(self) -> bool:
        """True if the step length is controlled by the error."""
        return self.errors is not None

    @property
    def is_direct(self) -> bool:
        """True if one kernel takes the whole step."""
        return not self.stages

    def table(self) -> Array:
        """Return all coefficients in one array, in the layout of the integration loops of `jit`."""
        more = () if self.errors is None else self.errors
        return np.concatenate([self.A.ravel(), self.b, self.c, *more])

    def backward_table(self) -> Array:
        """Return the coefficients from the last stage to the first: a_ji by rows, b, c, and a row of ones."""
        return np.concatenate([self.A.T[::-1, ::-1].ravel(), self.b[::-1], self.c[::-1], np.ones(self.stages)])


def _tableau(name: IntegratorName, order: int, text: str, stable_to: float, roots: int = 0) -> Method:
    """Return the method of a printed tableau: rows of all stages but the first, the weights, two rows of error weights.

    Rows end with a semicolon. The nodes are the sums of the rows.
    """
    rows = [[float(Fraction(word)) for word in row.split()] for row in text.split(";")]
    is_pair = len(rows[-1]) == len(rows[-2])
    stages = len(rows) - 2 * is_pair
    A = np.zeros((stages, stages))
    for i, row in enumerate(rows[: stages - 1]):
        A[i + 1, : i + 1] = row
    errors = np.array(rows[stages:]) if is_pair else None
    return Method(name, order, A, np.array(rows[stages - 1]), A.sum(axis=1), errors, stable_to, roots)


_RK4 = """
    1/2;
    0 1/2;
    0 0 1;
    1/6 1/3 1/3 1/6"""

# Fehlberg's method with the weights of order 5 (Takahashi 2012, sec. 5.1: Ode45, eqs. 5.1-5.3).
_RKF45 = """
    1/4;
    3/32 9/32;
    1932/2197 -7200/2197 7296/2197;
    439/216 -8 3680/513 -845/4104;
    -8/27 2 -3544/2565 1859/4104 -11/40;
    16/135 0 6656/12825 28561/56430 -9/50 2/55"""

# Tsitouras' pair of orders 5 and 4 (Computers & Mathematics with Applications 62, 2011, table 1).
_TSIT5 = """
    0.161;
    -0.008480655492356989 0.335480655492357;
    2.8971530571054935 -6.359448489975075 4.3622954328695815;
    5.325864828439257 -11.748883564062828 7.4955393428898365 -0.09249506636175525;
    5.86145544294642 -12.92096931784711 8.159367898576159 -0.071584973281401 -0.028269050394068383;
    0.09646076681806523 0.01 0.4798896504144996 1.379008574103742 -3.290069515436081 2.324710524099774;
    -0.00178001105222577714 -0.0008164344596567469 0.007880878010261995 -0.1447110071732629
      0.5823571654525552 -0.45808210592918697 1/66;
    0 0 0 0 0 0 0"""

# Dormand and Prince, order 8; error formulas of orders 5 and 3 by Hairer (Hairer, Nørsett, Wanner: Solving Ordinary
# Differential Equations I, sec. II.5 and II.10; as in Hairer's `dop853.f`).
_DOP853 = """
    0.05260015195876773;
    0.0197250569845379 0.0591751709536137;
    0.02958758547680685 0 0.08876275643042054;
    0.2413651341592667 0 -0.8845494793282861 0.924834003261792;
    0.037037037037037035 0 0 0.17082860872947386 0.12546768756682242;
    0.037109375 0 0 0.17025221101954405 0.06021653898045596 -0.017578125;
    0.03709200011850479 0 0 0.17038392571223998 0.10726203044637328 -0.015319437748624402 0.008273789163814023;
    0.6241109587160757 0 0 -3.3608926294469414 -0.868219346841726 27.59209969944671 20.154067550477894
      -43.48988418106996;
    0.47766253643826434 0 0 -2.4881146199716677 -0.590290826836843 21.230051448181193 15.279233632882423
      -33.28821096898486 -0.020331201708508627;
    -0.9371424300859873 0 0 5.186372428844064 1.0914373489967295 -8.149787010746927 -18.52006565999696
      22.739487099350505 2.4936055526796523 -3.0467644718982196;
    2.273310147516538 0 0 -10.53449546673725 -2.0008720582248625 -17.9589318631188 27.94888452941996
      -2.8589982771350235 -8.87285693353063 12.360567175794303 0.6433927460157636;
    0.054293734116568765 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585 0.3111643669578199
      -0.1521609496625161 0.20136540080403034 0.04471061572777259;
    0.01312004499419488 0 0 0 0 -1.2251564463762044 -0.4957589496572502 1.6643771824549864 -0.35032884874997366
      0.3341791187130175 0.08192320648511571 -0.022355307863886294 0;
    -0.18980075407240762 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585 -0.4226823213237919
      -0.1521609496625161 0.20136540080403034 0.02265179219836082 0"""

# Scenarios, the parameter of the node and the command line accept these names.
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            _tableau("rkf45", 5, _RKF45, stable_to=3.68),
            _tableau("rk4", 4, _RK4, stable_to=2.78),
            Method("semi_implicit", 1, np.zeros((0, 0)), np.zeros(0), np.zeros(0)),
            _tableau("dop853", 8, _DOP853, stable_to=6.0, roots=3),
            _tableau("tsit5", 5, _TSIT5, stable_to=3.5, roots=2),
        )
    }
)
DEFAULT = "rkf45"
AUTO: Literal["auto"] = "auto"  # choice of the integrator by stiffness
RESOLVED = 1.0  # step times rate up to which an explicit step resolves a decay
Rates = Sequence[tuple[str, float]]  # kinds of forces, and the rate of the fastest response of each [1/s]


class StiffStepWarning(UserWarning):
    """The step is too long for an explicit integrator and the stiffest contact, joint stop, friction or servo."""


def method_for(integrator: IntegratorName | Method, step: float, rates: Rates, has_contact: bool) -> tuple[Method, str]:
    """Return a method, and the reason for an automatic choice.

    An explicit method resolves responses that take a step or longer. Impacts are faster than contacts at rest: contacts
    select the semi-implicit method at any rate.

    Args:
        integrator: method, name of a method, or "auto".
        step: step length [s].
        rates: rates of the forces.
        has_contact: whether there are contacts.
    """
    if isinstance(integrator, Method):
        return integrator, "selected"
    known = (*METHODS, AUTO)
    if integrator not in known:
        raise invalid("integrator", integrator, f"one of {', '.join(known)}", allowed=known)
    if integrator != AUTO:
        return METHODS[integrator], "selected"
    what, fastest = max(rates, key=lambda one: one[1])
    within = f"the {what} respond within {1.0 / fastest:.2g} s" if fastest else ""
    if fastest * step > RESOLVED:
        return METHODS["semi_implicit"], f"{within}, the step is {step:g} s"
    if has_contact:
        return METHODS["semi_implicit"], f"impacts on contacts are faster than the step of {step:g} s"
    return METHODS["rkf45"], f"{within}, which a step of {step:g} s resolves" if within else "no force is stiff"


def warn_if_unstable(method: Method, step: float, rates: Rates, name: str) -> None:
    """Warn if an explicit method cannot integrate the forces on the model with this step."""
    for what, rate in () if method.is_direct or method.is_adaptive else rates:
        if rate * step > method.stable_to:
            warnings.warn(
                f"the {what} of model {name!r} respond within {1.0 / rate:.2g} s; integrator {method.name!r} is "
                f"unstable with a step of {step:g} s. Use integrator='semi_implicit', a step of "
                f"{method.stable_to / rate:.2g} s, or lower stiffness.",
                StiffStepWarning,
                stacklevel=3,  # of the caller of Simulation
            )
