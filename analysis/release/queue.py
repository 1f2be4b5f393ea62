"""The people who answer alarms, as a queue: how long alarms wait, and how many are answered too late.

A discrete-event simulation with the alarms of the records as arrivals: every resident lives through recorded
trials drawn anew, so that alarms that come together in the records come together here. With Poisson arrivals
and exponential service it is M/M/c, whose closed form (Erlang C) is what it is tested against.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.columns import FloatArray
from rig.core.errors import UsageError

REPLICATES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One recorded trial as a source of alarms.

    Attributes:
        duration_s: How long it lasted.
        alarms_s: When its alarms came, increasing.
    """

    duration_s: float
    alarms_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """What the queue made of the alarms.

    Attributes:
        alarms: How many were simulated, over all replicates.
        p50_s: Median time until somebody comes to begin.
        p95_s: 95th percentile of it.
        late: Share of alarms to which nobody came within the useful time.
        busy: Share of their time the staff were answering.
        worst_p95_s: 95th percentile in the worst replicate.
    """

    alarms: int
    p50_s: float
    p95_s: float
    late: float
    busy: float
    worst_p95_s: float


def serve(arrivals_s: FloatArray, services_s: FloatArray, staff: int) -> FloatArray:
    """Return how long each arrival waits, first come first served, shape (n,).

    Args:
        arrivals_s: When alarms come, increasing, shape (n,).
        services_s: How long each takes, shape (n,).
        staff: People answering.
    """
    free = [0.0] * staff
    waits = np.empty(len(arrivals_s))
    for k, (arrival, service) in enumerate(zip(arrivals_s.tolist(), services_s.tolist(), strict=True)):
        begin = max(arrival, heapq.heappop(free))
        waits[k] = begin - arrival
        heapq.heappush(free, begin + service)
    return waits


def erlang_c_wait(rate_per_s: float, mean_service_s: float, staff: int) -> tuple[float, float]:
    """Return the probability of waiting and the mean wait (s) of M/M/c.

    >>> p, wait = erlang_c_wait(1 / 60, 90, 2)  # offered load 1.5 erlang
    >>> round(p, 6), round(wait, 3)
    (0.642857, 115.714)

    Raises:
        UsageError: If the staff cannot keep up at all.
    """
    load = rate_per_s * mean_service_s
    if not 0 < load < staff:
        raise UsageError(f"{load:.3g} erlang for {staff} staff: the queue grows without end")
    terms = [load**k / math.factorial(k) for k in range(staff)]
    last = load**staff / math.factorial(staff) * staff / (staff - load)
    waiting = last / (sum(terms) + last)
    return waiting, waiting * mean_service_s / (staff - load)


def simulate(
    loads: Sequence[Load],
    *,
    staff: int,
    residents: int,
    shift_s: float,
    mean_service_s: float,
    useful_s: float,
    rng: np.random.Generator,
    spike: int = 0,
    replicates: int = REPLICATES,
) -> Waits:
    """Return how the staff cope with the recorded alarms of many residents over a shift.

    Args:
        loads: The recorded trials.
        staff: People answering.
        residents: Residents they answer for at once.
        shift_s: How long.
        mean_service_s: Mean time one alarm takes.
        useful_s: After this wait an answer is too late.
        rng: Randomness.
        spike: Alarms that come all at once in the middle of the shift, on top.
        replicates: Shifts simulated.

    Raises:
        UsageError: If there is no recorded time.
    """
    if not loads or not sum(load.duration_s for load in loads) > 0:
        raise UsageError("no recorded time to take alarms from")
    waits: list[FloatArray] = []
    worst = busy = 0.0
    for _ in range(replicates):
        arrivals = np.sort(
            np.concatenate(
                [_shift(loads, shift_s, rng) for _ in range(residents)] + [np.full(spike, shift_s / 2)]
            )
        )
        services = rng.exponential(mean_service_s, len(arrivals))
        found = serve(arrivals, services, staff)
        waits.append(found)
        busy += float(services.sum()) / (staff * shift_s) / replicates
        if len(found):
            worst = max(worst, float(np.quantile(found, 0.95)))
    every = np.concatenate(waits)
    if not len(every):
        return Waits(alarms=0, p50_s=0.0, p95_s=0.0, late=0.0, busy=0.0, worst_p95_s=0.0)
    p50, p95 = np.quantile(every, (0.5, 0.95))
    return Waits(
        alarms=len(every),
        p50_s=float(p50),
        p95_s=float(p95),
        late=float(np.mean(every > useful_s)),
        busy=min(busy, 1.0),
        worst_p95_s=worst,
    )


def _shift(loads: Sequence[Load], shift_s: float, rng: np.random.Generator) -> FloatArray:
    """Return the alarms of one resident: recorded trials one after the other, begun somewhere within one."""
    durations = np.array([load.duration_s for load in loads])
    share = durations / durations.sum()
    # By the share of time, so that the rate of alarms is that of the records however long each is.
    at = -float(rng.uniform(0.0, durations[rng.choice(len(loads), p=share)]))
    found: list[float] = []
    while at < shift_s:
        load = loads[int(rng.integers(len(loads)))]
        found += [at + t for t in load.alarms_s if 0.0 <= at + t < shift_s]
        at += load.duration_s
    return np.array(found)
