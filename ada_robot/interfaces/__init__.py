# SPDX-License-Identifier: Apache-2.0
"""Build of message packages missing on PyPI (tf2_msgs), inside a virtual environment.

The ROS 2 wheels contain the generators, headers and libraries; the C and C++ compilers are those of the system.

    python -m ada_robot.interfaces                 tf2_msgs, unless it can be imported
    python -m ada_robot.interfaces --from DIR      DIR/PACKAGE/{msg,srv,action}/*
"""
