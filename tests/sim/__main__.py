"""`python -m tests.sim`: see tests/sim/chaos/commands.py."""

import sys

from tests.sim.chaos.commands import main

sys.exit(main())
