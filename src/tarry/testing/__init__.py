"""Contract suites: what every member of a room must satisfy, for our members and for yours."""

from tarry.testing.schedulers import SchedulerContract, Trace, follow

__all__ = ["SchedulerContract", "Trace", "follow"]
