# SPDX-License-Identifier: Apache-2.0
"""What simulated or recorded motions say: energy, momentum, balance, singular poses, rates of samples."""
