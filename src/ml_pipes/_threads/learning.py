"""What is learned from times: how long something takes, how a batch's cost grows, who comes back.

Knows numbers. Knows nothing of threads, or of what the times are of.
"""

from __future__ import annotations

__all__ = ["Cost", "Duration", "Habit"]

# The newest sample weighs at least this much: the last dozen or two decide.
_LEAST_WEIGHT = 1 / 16
# What a run of the body counts for after each later run: half is forgotten after 34.
_KEPT = 0.98
# Below this variance of the batch sizes, a line through them says nothing.
_LEAST_VARIANCE = 0.05
# A run also costs that its leader and its callers are woken, seconds; where it is quicker, nobody sleeps.
_HAND_OVER_S = 100e-6
_USUALLY = 0.75
_HABIT_WEIGHT = 1 / 8


class Duration:
    """Mean and mean deviation of recent times, and from both how long it takes at most.

    The estimator of a retransmission timeout (V. Jacobson, Congestion Avoidance and
    Control, 1988; RFC 6298), with the means of all samples until there are 16.
    """

    __slots__ = ("_count", "_deviation_s", "_mean_s")

    def __init__(self) -> None:
        self._count = 0
        self._mean_s = 0.0
        self._deviation_s = 0.0

    def learn(self, seconds: float) -> None:
        """Take one more sample."""
        self._count += 1
        if self._count == 1:
            self._mean_s, self._deviation_s = seconds, seconds / 2
            return
        weight = max(1 / self._count, _LEAST_WEIGHT)
        off_s = seconds - self._mean_s
        self._mean_s += weight * off_s
        self._deviation_s += weight * (abs(off_s) - self._deviation_s)

    @property
    def most_s(self) -> float:
        """The mean and three deviations, seconds."""
        return self._mean_s + 3 * self._deviation_s


class Habit:
    """How one caller comes back: how often in time to be waited for, and how soon then."""

    __slots__ = ("_gap", "_share")

    def __init__(self) -> None:
        self._gap = Duration()
        self._share: float | None = None

    def learn(self, gap_s: float, *, in_time: bool) -> None:
        """It came back after ``gap_s`` seconds; a gap too long to be waited for only counts as such."""
        came = 1.0 if in_time else 0.0
        self._share = came if self._share is None else self._share + _HABIT_WEIGHT * (came - self._share)
        if in_time:
            self._gap.learn(gap_s)

    @property
    def gap_s(self) -> float | None:
        """It is usually back after this many seconds at most; None when it usually is not."""
        return self._gap.most_s if self._share is not None and self._share >= _USUALLY else None


class Cost:
    """The run time of a batch as ``launch + rows * row``, by least squares with forgetting.

    While all batches had one size the line cannot be told; then all of the time is
    taken for the launch, which makes the region try a larger batch, and learn.

    Attributes:
        launch_s: what each run costs however many rows it has, seconds; None while nothing is known.
    """

    __slots__ = ("_row_s", "_rows", "_rows_squared", "_rows_times", "_runs", "_times", "_weight", "launch_s")

    def __init__(self) -> None:
        self._runs = 0
        self._weight = self._rows = self._times = self._rows_squared = self._rows_times = 0.0
        self.launch_s: float | None = None
        self._row_s = 0.0

    def learn(self, rows: int, run_s: float) -> None:
        """Take one more run; the first one, in which everything is set up, is left out."""
        self._runs += 1
        if self._runs == 1:
            return
        run_s += min(run_s, _HAND_OVER_S)
        self._weight = self._weight * _KEPT + 1
        self._rows = self._rows * _KEPT + rows
        self._times = self._times * _KEPT + run_s
        self._rows_squared = self._rows_squared * _KEPT + rows * rows
        self._rows_times = self._rows_times * _KEPT + rows * run_s
        self._fit()

    def run_s(self, rows: int) -> float:
        """What a run of this many rows should take, seconds; 0 while nothing is known."""
        return (self.launch_s or 0.0) + rows * self._row_s

    def _fit(self) -> None:
        rows, run_s = self._rows / self._weight, self._times / self._weight
        variance = self._rows_squared / self._weight - rows * rows
        if variance >= _LEAST_VARIANCE:
            slope = (self._rows_times / self._weight - rows * run_s) / variance
            self._row_s = min(max(slope, 0.0), run_s / rows)
        # Sizes that no longer vary keep the slope that was learned while they did.
        self.launch_s = max(run_s - self._row_s * rows, 0.0)
