"""Public contract suites: subclass one in a test to hold a member of your own to the same promises."""

from tarry.testing.delays import DelaysContract

__all__ = ["DelaysContract"]
