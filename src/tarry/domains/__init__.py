"""Domains: closed convex sets with a projection."""

from tarry.domains.ball import Ball
from tarry.domains.base import Domain, as_positive, as_vector, contains, nearest, project

__all__ = ["Ball", "Domain", "as_positive", "as_vector", "contains", "nearest", "project"]
