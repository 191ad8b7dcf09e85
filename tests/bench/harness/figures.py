"""Statistics of repeated runs, and how numbers are written. Pure."""

import statistics


def summary(values):
    """(median, min, max) of at least one number."""
    return statistics.median(values), min(values), max(values)


def number(value):
    """Three significant digits, without an exponent: 0.0123, 1.23, 12.3, 1234."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    decimals = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2 if magnitude >= 0.9995 else 3
    text = f"{value:.{decimals}f}"
    return f"{value:.2g}" if magnitude < 0.0995 and magnitude >= 1e-4 else text


def spread(values):
    """`median (min ... max)`; the median alone of a single run."""
    if not values:
        return "-"
    middle, low, high = summary(values)
    if len(values) == 1:
        return number(middle)
    return f"{number(middle)} ({number(low)} ... {number(high)})"


def jain_index(shares):
    """Jain's fairness index of the flows' rates: 1 is equal, 1/n is one flow having all."""
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def rotated(items, round_number):
    """The items in the order of this round: each round starts with another one, so that nobody
    always follows the same neighbour first on a warm or a cold machine."""
    start = round_number % len(items) if items else 0
    return items[start:] + items[:start]


def rate_between(samples, begin, end):
    """Bytes a second from the samples [(seconds, bytes)...] between two times, by interpolation.
    0 if there is nothing to measure."""
    if end <= begin or len(samples) < 2:
        return 0.0
    return (value_at(samples, end) - value_at(samples, begin)) / (end - begin)


def value_at(samples, when):
    """Linear interpolation in samples sorted by time; constant outside of them."""
    if when <= samples[0][0]:
        return samples[0][1]
    for (t0, v0), (t1, v1) in zip(samples, samples[1:]):
        if when <= t1:
            return v0 + (v1 - v0) * (when - t0) / (t1 - t0) if t1 > t0 else v1
    return samples[-1][1]


def longest_pause(samples, begin, end):
    """The longest time in [begin, end] in which the sampled bytes did not grow, in seconds.
    REQUIRES: samples sorted by time."""
    longest, since, last = 0.0, begin, None
    for when, value in samples:
        if when < begin:
            last = value
            continue
        if when > end:
            break
        if last is None or value != last:
            longest = max(longest, when - since)
            since, last = when, value
    return max(longest, end - since)


def rates(samples, step):
    """[(time, bytes a second)] in steps of `step` seconds, for a plot of throughput over time."""
    if not samples:
        return []
    points, t = [], samples[0][0]
    while t + step <= samples[-1][0]:
        points.append((t + step / 2, rate_between(samples, t, t + step)))
        t += step
    return points
