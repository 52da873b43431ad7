"""Flights out of New York in 2013: how late will this one be? Decided when it is due, told when it leaves or lands.

Departures: y = clip(delay, 0, 180)/60 hours, told at take-off or, since nothing more can change then, 180 minutes after
the schedule, never before it. Arrivals: the same of the delay on landing; the clock at the destination is converted by
its time zone. The later a flight, the later its label: the delay of the label *is* the label.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from studies.streams import Stream, Vector, first_rows, read_airports, read_flights, read_weather
from tarry.delays import array, trace

LONGEST = 180
FEW = 3000  # carriers with fewer flights are "other"
TAXI = 28  # minutes on the ground before and after the time in the air (the median), to tell the day of a landing
ATLANTIC = ("BQN", "PSE", "SJU", "STT")  # Puerto Rico and the Virgin Islands, absent from the table of airports
WEATHER = ("visib", "precip", "wind_speed", "humid", "temp")


def flights(label: str = "departure", first: int | None = None) -> Stream:
    """The stream of flights; ``label`` is "departure" or "arrival", ``first`` takes only so many.

    Ties of the schedule are broken by the flight number. Which carriers are "other" is decided on the whole year.
    """
    if label not in ("departure", "arrival"):
        raise ValueError(f"label must be 'departure' or 'arrival', got {label!r}")
    late = "dep_delay" if label == "departure" else "arr_delay"
    table = _scheduled(late)
    features = _features(table)
    due = table["due"].to_numpy()
    told = np.maximum(due, _take_off(table) if label == "departure" else _landing(table))
    n = first_rows(first, due.size)
    return Stream(
        name=f"flights, {label}s",
        features=features[:n],
        labels=np.clip(_floats(table, late), 0, LONGEST)[:n] / 60.0,
        delays=array(trace(due[:n], told[:n]).values),
        times=due[:n].astype(np.float64),
        told=told[:n].astype(np.float64),
        unit="min",
        scale=60.0,
        event=0.25,
    )


def _scheduled(late: str) -> pl.DataFrame:
    """Flights that took place, in the order of the schedule, with ``due`` in minutes (UTC) and the weather."""
    hour = pl.col("time_hour").str.to_datetime("%Y-%m-%dT%H:%M:%SZ").dt.epoch("s") // 60
    table = read_flights().filter(pl.col(late).is_not_null()).with_columns(due=hour + pl.col("minute"))
    weather = read_weather().select("origin", "time_hour", *WEATHER).unique(["origin", "time_hour"], keep="first")
    return table.sort("due", "flight", maintain_order=True).join(
        weather, on=["origin", "time_hour"], how="left", maintain_order="left"
    )


def _take_off(table: pl.DataFrame) -> NDArray[np.int64]:
    return np.asarray(table["due"].to_numpy() + np.minimum(table["dep_delay"].to_numpy(), LONGEST))


def _landing(table: pl.DataFrame) -> NDArray[np.int64]:
    """When a flight has landed, or is 180 minutes late, in minutes (UTC).

    The table has the clock at the gate without a date: of the days it may be, the one nearest to take-off plus the time
    in the air.
    """
    zones = read_airports().select(dest="faa", zone="tzone")
    joined = table.join(zones, on="dest", how="left", maintain_order="left").with_columns(
        zone=pl.when(pl.col("dest").is_in(ATLANTIC)).then(pl.lit("America/Puerto_Rico")).otherwise(pl.col("zone")),
        expected=pl.col("due") + pl.col("dep_delay") + pl.col("air_time") + TAXI,
        clock=pl.col("arr_time") // 100 * 60 + pl.col("arr_time") % 100,
    )
    expected, clock = joined["expected"].to_numpy(), joined["clock"].to_numpy()
    offset = _offsets(joined["zone"].to_numpy(), expected)
    local = expected + offset
    landed = local + (clock - local + 720) % 1440 - 720 - offset
    return np.asarray(landed - np.maximum(table["arr_delay"].to_numpy() - LONGEST, 0))


def _offsets(zones: NDArray[np.object_], minutes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Minutes that local clocks are ahead of UTC at these times."""
    out = np.zeros(minutes.size, np.int64)
    for zone in set(zones):
        here = zones == zone
        utc = pl.Series(minutes[here] * 60_000).cast(pl.Datetime("ms", "UTC"))
        local = utc.dt.convert_time_zone(zone).dt.replace_time_zone(None).cast(pl.Int64)
        out[here] = local.to_numpy() // 60_000 - minutes[here]
    return out


def _features(table: pl.DataFrame) -> Vector:
    """Bias, time of day, distance, carrier, origin, weekday and weather; a missing reading is 0, a usual value."""
    h = _floats(table, "hour") + _floats(table, "minute") / 60.0
    angle = 2 * np.pi * h / 24
    columns = [np.ones(h.size), (h - 13) / 6, *(f(m * angle) for m in (1, 2) for f in (np.sin, np.cos))]
    columns.append(_floats(table, "distance") / 1500 - 0.7)
    carrier = table["carrier"].to_numpy()
    names, counts = np.unique(carrier, return_counts=True)
    common = names[counts >= FEW]
    columns += [carrier == name for name in common]
    columns.append(~np.isin(carrier, common))
    columns += [table["origin"].to_numpy() == name for name in ("EWR", "JFK", "LGA")]
    weekday = table.select(pl.date("year", "month", "day").dt.weekday()).to_series().to_numpy()
    columns += [weekday == day for day in range(1, 8)]
    visible, rain, wind, humid, warm = (_floats(table, name) for name in WEATHER)
    readings = [
        1 - visible / 10,
        np.minimum(5 * rain, 1),
        np.minimum(wind / 30, 1.5),
        humid / 100 - 0.6,
        warm / 100 - 0.55,
    ]
    return np.column_stack([*columns, *(np.nan_to_num(column) for column in readings)]).astype(np.float64)


def _floats(table: pl.DataFrame, name: str) -> Vector:
    return table[name].to_numpy().astype(np.float64)
