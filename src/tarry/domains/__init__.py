"""Domains: closed convex sets with a projection."""

from tarry.domains.ball import Ball
from tarry.domains.base import (
    Domain,
    as_definite,
    as_dimension,
    as_domain,
    as_vector,
    contains,
    nearest,
    project,
)
from tarry.domains.box import Box
from tarry.domains.custom import Custom
from tarry.domains.ellipsoid import Ellipsoid
from tarry.domains.product import Product, product
from tarry.domains.shift import Shift
from tarry.domains.shrink import Shrink
from tarry.domains.simplex import Simplex

__all__ = [
    "Ball",
    "Box",
    "Custom",
    "Domain",
    "Ellipsoid",
    "Product",
    "Shift",
    "Shrink",
    "Simplex",
    "as_definite",
    "as_dimension",
    "as_domain",
    "as_vector",
    "contains",
    "nearest",
    "product",
    "project",
]
