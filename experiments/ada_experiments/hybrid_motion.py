# SPDX-License-Identifier: Apache-2.0
"""S2: two space robots in contact on a motion table, after Tarao et al. (secs. 3, 4, figs. 9-16).

The robots are simulated; the contact is physical, between a plate on a HEXA and a probe on a force sensor. Here HEXA
and sensor are emulated byte-exactly, and the two programs run in lock step with a network in between. The same contact
in pure simulation (S1) is shown for comparison, as in the figures of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ada_experiments import space_robots
from ada_experiments.hybrid_motion_claims import claims_of, quantities_of
from ada_experiments.hybrid_motion_pictures import CAPTIONS, pictures_of, table_of
from ada_experiments.hybrid_motion_rig import HybridCase, HybridRig, HybridSettings, Network
from ada_experiments.motion_simulation.emulated_table import SENSORS
from ada_experiments.motion_simulation.lock_step import Record
from ada_tools.scenario import units
from ada_tools.scenario.registry import Outcome, Progress, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

KNOWN = (
    "stiffnesses",
    "dampings",
    "approach",
    "gap",
    "step",
    "duration",
    "probe_stiffness",
    "probe_dissipation",
    "sensor",
    "network",
)
_NETWORK = ("delay", "jitter", "loss", "seed")


@experiment("hybrid_motion")
def hybrid_motion(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Contacts on the table for figs. 12-15, with and without compensation, over a good and a bad network."""
    chosen = read_settings(scenario)
    rig = HybridRig(chosen)
    last = len(chosen.stiffnesses) - 1
    names = [(f"K_p = {kp:g} N m/rad", i, False) for i, kp in enumerate(chosen.stiffnesses)]
    names.append((f"K_p = {chosen.stiffnesses[last]:g}, other masses", last, True))
    parts = 2 * len(names) + 4
    cases = []
    for done, (name, i, heavy) in enumerate(names):
        progress(2 * done / parts, f"hybrid motion simulation, {name}")
        cases.append(rig.case(name, i, heavy=heavy))
    progress(2 * len(names) / parts, "hybrid motion simulation, bad network")
    bad = [rig.hybrid(last, compensation=order, network=chosen.network) for order in (2, 0)]
    progress((parts - 2) / parts, "hybrid motion simulation, ADA")
    other = rig.hybrid(0, algorithm="ada")
    progress((parts - 1) / parts, "hybrid motion simulation, impedance")
    simple = rig.impedance(0)
    claims = claims_of(chosen, cases, bad, other, simple, rig.violations)
    figures = pictures_of(cases, bad, output)
    return Outcome(claims, figures, [table_of(cases)], _notes(chosen, cases, bad), dict(CAPTIONS), quantities_of(cases))


def read_settings(scenario: Scenario, also: Sequence[str] = ()) -> HybridSettings:
    """Settings of a scenario, with units.

    Args:
        scenario: scenario of the experiment.
        also: additional keys read by the caller.
    """
    part = settings_of(scenario, (*KNOWN, *also))
    network = part.part("network", _NETWORK)
    count = len(part.items("stiffnesses"))
    stiffnesses = part.vector("stiffnesses", (units.TURNING_STIFFNESS,) * count)
    dampings = part.vector("dampings", (units.TURNING_DAMPING,) * len(part.items("dampings")))
    if count < 2 or list(stiffnesses) != sorted(set(stiffnesses)) or stiffnesses[0] <= 0.0:
        raise part.problem("stiffnesses", "they must be at least two positive values in ascending order.")
    if len(dampings) != count or min(dampings) <= 0.0:
        raise part.problem("dampings", f"there must be one positive value for each of the {count} stiffnesses.")
    loss = network.quantity("loss", units.NUMBER, 0.0)
    if not 0.0 <= loss <= 0.5:
        raise network.problem("loss", "it must be between 0 and 0.5.")
    return HybridSettings(
        stiffnesses,
        dampings,
        part.positive("approach", units.SPEED),
        part.positive("gap", units.LENGTH),
        part.positive("step", units.TIME),
        part.positive("duration", units.TIME),
        part.positive("probe_stiffness", units.STIFFNESS),
        part.positive("probe_dissipation", units.Dimension(s=1, m=-1)),
        part.choice("sensor", SENSORS, SENSORS[0]),
        Network(
            network.quantity("delay", units.TIME, 0.0),
            network.quantity("jitter", units.TIME, 0.0),
            loss,
            round(network.quantity("seed", units.NUMBER, 0.0)),
        ),
    )


def _notes(chosen: HybridSettings, cases: Sequence[HybridCase], bad: Sequence[Record]) -> list[str]:
    stiff = ", ".join(f"{case.stiffness:.0f}" for case in cases[: len(chosen.stiffnesses)])
    jumps = ", ".join(f"{case.hybrid.push.max():.1f}" for case in cases)
    network, summary = chosen.network, bad[0].delays
    return [
        "The scales of the document's figures are only in its pictures, so peaks and times cannot be compared in "
        "numbers. Its statements are tested: the effect of K_p and of other masses on the force, and the agreement "
        "of hybrid and numerical curves.",
        "HEXA97's dimensions, masses and K_d are unknown. With the HEXA of the catalogue (plate at "
        f"{space_robots.TABLE_HEIGHT:g} m) and the probe the contact stiffness is k = {stiff} N/m. The pose of "
        "fig. 10, the position of the probe and the gap are assumed, as in S1.",
        "The motor rates are damped (τ = K_p δθ - K_d θ̇), so that the plate at rest on the probe is the spring of "
        "eq. 15. Damping the error rates (eq. 10 as printed) dissipates up to a fifth of the contact energy.",
        "Plate and legs (1.4 kg at the plate) bounce on the probe at first contact. Peaks and comparison use the "
        f"mean over 10 ms; the highest single values are {jumps} N. The numerical model has no such mass, as in the "
        "document.",
        "Real model 1 (0.288 kg, table 2) rests on the sensor; its weight is part of the sensor zero. Neither model "
        "includes its inertia, which table 1 does not give.",
        "The delay is compensated by sending a pose predicted over the measured delay from velocity and acceleration "
        "(second-order phase lead; see docs/motion_simulation.md). Energies include the springs and losses of robot "
        "1's hold, before and after contact, relative to ½ m_e v².",
        f"Disturbed network: {1e3 * network.delay:g} ms and up to {1e3 * network.jitter:g} ms jitter each way, "
        f"{100 * network.loss:g} % loss. The loop's delay was {1e3 * summary.delay_p50:.1f} ms (median), "
        f"{1e3 * summary.delay_max:.1f} ms at most; {summary.lost} answers were lost, {bad[0].filled} forces estimated "
        f"from the identified stiffness of {bad[0].stiffness:.0f} N/m.",
        "Lock step is independent of the speed of the machine; `python -m benchmarks.motion_simulation` measures the "
        "2 ms cycle in real time.",
    ]
