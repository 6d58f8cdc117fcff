# SPDX-License-Identifier: Apache-2.0
"""Is the test gate reliable and does it find faults? Repeated runs of `make test`, and deliberate faults."""
