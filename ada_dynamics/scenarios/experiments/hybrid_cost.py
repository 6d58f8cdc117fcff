# SPDX-License-Identifier: Apache-2.0
"""Tables 4.2 and 4.3 of Takahashi 2012: what hybrid modelling saves."""
