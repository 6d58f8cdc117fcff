# SPDX-License-Identifier: Apache-2.0
"""Trajectory optimisation of a Stewart platform with CasADi and IPOPT: its loops are inside the dynamics."""

import casadi as ca
import numpy as np

import ada_dynamics as ada
from ada_dynamics.casadi import function
from ada_dynamics.robots.mechanisms import stewart

N, DURATION, STRONGEST = 15, 0.6, 80.0  # intervals, [s], [N]
model, start = stewart(position=(-0.12, 0.0, 0.7), rpy=(0.0, 0.0, -0.2))
goal = stewart(position=(0.12, 0.05, 0.75), rpy=(0.0, 0.1, 0.3))[1]
dynamics = ada.Dynamics(model, q0=start)
forward, rate = function(dynamics, "forward"), function(dynamics, "position_rate")
motors = list(dynamics.constraints.indices("actuated"))
legs = [model.q_index(leg).start for leg in model.actuated]

# A midpoint step of the whole mechanism: closed at the start, it stays so to the order of the step.
q, v, f = ca.SX.sym("q", model.nq), ca.SX.sym("v", model.nv), ca.SX.sym("f", 6)
tau = ca.SX(model.nv, 1)
tau[motors] = f
h = DURATION / N
middle_q, middle_v = q + h / 2 * rate(q, v), v + h / 2 * forward(q, v, tau)
after = q + h * rate(middle_q, middle_v)
after[3:7] /= ca.norm_2(after[3:7])  # the platform's quaternion
step = ca.Function("step", [q, v, f], [after, v + h * forward(middle_q, middle_v, tau)])

problem = ca.Opti()
Q, V, F = problem.variable(model.nq, N + 1), problem.variable(model.nv, N + 1), problem.variable(6, N)
problem.subject_to(ca.vertcat(Q[:, 0] - start, V[:, 0]) == 0)
for k in range(N):
    after_q, after_v = step(Q[:, k], V[:, k], F[:, k])
    problem.subject_to(Q[:, k + 1] == after_q)
    problem.subject_to(V[:, k + 1] == after_v)
problem.subject_to(Q[legs, N] == goal[legs])
problem.subject_to(V[motors, N] == 0)
problem.subject_to(problem.bounded(-STRONGEST, ca.vec(F), STRONGEST))
problem.minimize(ca.sumsqr(F) / STRONGEST**2)
problem.set_initial(Q, np.linspace(start, goal, N + 1).T)
resting = dynamics.inverse(start, np.zeros(model.nv), np.zeros(model.nv))[motors]
problem.set_initial(F, np.tile(resting, (N, 1)).T)
problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
found = problem.solve()
poses, forces = found.value(Q).T, found.value(F).T
status, gap = found.stats(), dynamics.constraints.closure_error(poses).max()
print(f"{status['return_status']} after {status['iter_count']} steps of IPOPT, with at most {abs(forces).max():.1f} N")
print(f"legs miss their goal by {abs(poses[-1, legs] - goal[legs]).max():.0e} m, loops are open by {gap:.0e} m")
