# SPDX-License-Identifier: Apache-2.0
"""See `trials.faults.campaign`."""

import sys

from trials.faults.campaign import main

if __name__ == "__main__":
    sys.exit(main())
