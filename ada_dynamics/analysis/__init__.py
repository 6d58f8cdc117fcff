# SPDX-License-Identifier: Apache-2.0
"""Simulated and recorded motions analysed: energy, momentum, balance, singular poses, rates of samples."""
