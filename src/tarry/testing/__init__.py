"""Contract suites: subclass one in your tests to check a member of your own."""

from tarry.testing.losses import LossContract

__all__ = ["LossContract"]
