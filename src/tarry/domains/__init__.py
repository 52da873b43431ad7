"""Domains: closed convex sets with a projection."""

from collections.abc import Callable
from typing import Any

from tarry.domains.ball import Ball
from tarry.domains.base import Domain, contains, nearest, project

# Checks that learners share; they are not public.
from tarry.domains.base import as_definite as as_definite
from tarry.domains.base import as_domain as as_domain
from tarry.domains.base import as_vector as as_vector
from tarry.domains.box import Box
from tarry.domains.custom import CustomDomain
from tarry.domains.ellipsoid import Ellipsoid
from tarry.domains.product import Product as Product
from tarry.domains.product import product
from tarry.domains.shift import Shift
from tarry.domains.shrink import Shrink
from tarry.domains.simplex import Simplex

__all__ = [
    "Ball",
    "Box",
    "CustomDomain",
    "Domain",
    "Ellipsoid",
    "Shift",
    "Shrink",
    "Simplex",
    "contains",
    "nearest",
    "product",
    "project",
]

# What a sweep file or a store may name.
MEMBERS: dict[str, Callable[..., Any]] = {
    cls.__name__: cls for cls in (Ball, Box, Ellipsoid, Product, Shift, Shrink, Simplex)
}
# Names of earlier versions.
RENAMED = {"Custom": "CustomDomain"}
