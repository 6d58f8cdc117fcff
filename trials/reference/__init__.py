# SPDX-License-Identifier: Apache-2.0
"""Reference values of the public quantities of many models, to compare versions of the library."""
