# SPDX-License-Identifier: Apache-2.0
"""Long runs: nodes with an emulated device for a day, and 10^9 steps of simulations; `docs/test_campaigns.md`."""
