# SPDX-License-Identifier: Apache-2.0
"""Linkages that move although counting says that they cannot, and a judge of their motions.

The judge shares no code with the library: screws of a reference pose, Newton's and Euler's equations of each body,
independent coordinates, extended precision. Both the tests and the benchmark `linkages` use it.
"""
