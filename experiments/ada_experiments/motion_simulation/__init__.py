# SPDX-License-Identifier: Apache-2.0
"""Hybrid motion simulation (Tarao et al.): simulated bodies, a motion table, and forces measured on it.

Two free-flying robots are simulated. Their contact is physical: a plate on a motion table moves relative to a probe on
a force sensor like one robot relative to the other, and the measured force acts on both simulated robots.

    frames                      transforms between the simulated world and the laboratory
    robots                      simulated robots
    delay                       delay and its compensation, lost messages, passivity
    motion_table, hexa_table    table and force sensor of the probe
    loop                        the loop of dynamics and table
"""
