# SPDX-License-Identifier: Apache-2.0
"""How well the dynamics node keeps time.

Every process that is measured is one of its own, as in use: the node, who listens to it, who sends commands, and bare
processes that do nothing but sleep, one on each CPU. These tell what the machine itself delays.
"""
