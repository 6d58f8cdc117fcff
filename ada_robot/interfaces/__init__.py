# SPDX-License-Identifier: Apache-2.0
"""Message packages that PyPI lacks (tf2_msgs), built from their definitions inside a virtual environment.

The wheels of ROS 2 bring the generators, headers and libraries; a C and a C++ compiler come from the machine.

    python -m ada_robot.interfaces                 tf2_msgs, unless it can be imported already
    python -m ada_robot.interfaces --from DIR      DIR/PACKAGE/{msg,srv,action}/*

What is done, file by file: `build` (order, lock, what is built already), `prefix` (where), `toolchain` (with what),
then `generate` (sources), `compile` (one library) and `install`.
"""
