"""Contract suites: what every member of a room must do, your own included.

Subclass one in a test module, say which member to check, and pytest collects its tests.
"""

import pkgutil
import sys

if pytest := sys.modules.get("pytest"):  # a failing contract shows its values, as a test of one's own does
    pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)))

from tarry.testing.delays import DelaysContract, ReactingDelaysContract
from tarry.testing.domains import DomainContract
from tarry.testing.learners import LearnerContract
from tarry.testing.losses import LossContract, ReactingContract
from tarry.testing.schedulers import SchedulerContract, Trace, follow
from tarry.testing.stores import StoreContract

__all__ = ["DelaysContract", "DomainContract", "LearnerContract", "LossContract", "SchedulerContract", "StoreContract"]
__all__ += ["ReactingContract", "ReactingDelaysContract", "Trace", "follow"]
