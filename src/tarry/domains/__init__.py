"""Domains: closed convex sets with a projection."""

from collections.abc import Callable
from typing import Any

from tarry.domains.base import Domain, contains, nearest, project
from tarry.domains.composed import Product as Product
from tarry.domains.composed import Shift, Shrink, product
from tarry.domains.custom import CustomDomain
from tarry.domains.simple import Ball, Box, Ellipsoid, Simplex

__all__ = ["Ball", "Box", "CustomDomain", "Domain", "Ellipsoid", "Shift", "Shrink", "Simplex"]
__all__ += ["contains", "nearest", "product", "project"]

# What a sweep file or a store may name.
MEMBERS: dict[str, Callable[..., Any]] = {
    cls.__name__: cls for cls in (Ball, Box, Ellipsoid, Product, Shift, Shrink, Simplex)
}
