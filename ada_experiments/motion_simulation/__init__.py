# SPDX-License-Identifier: Apache-2.0
"""Hybrid motion simulation (Tarao et al.): simulated bodies, a motion table, forces that are measured there.

Two free-flying robots are simulated, each by its own equations of motion. Where they touch, both are real: a plate on a
motion table moves as the one sees the other, a probe on a force sensor is touched by it, and what the sensor measures
pushes both simulated robots.

    frames                                      how poses and forces go between the simulated world and the laboratory
    free_robot, robot_pair                      the simulated robots
    prediction, delay_meter, force_filling      what is done against the loop's delay and lost packets
    passivity                                   energy that the loop makes; warns
    motion_table, impedance_table, hexa_table, probe_sensor, emulated_table     the table and the sensor under its probe
    packets                                     what is sent between the programs
    dynamics_program, table_program             the two sides of the loop, without clocks and sockets
    lock_step                                   both in one process, in simulated time
    real_time, graphics                         the programs of three machines; started by
                                                python -m ada_experiments.motion_simulation
"""
