"""Plots as SVG text: bars and lines. Pure."""

import math
from xml.sax.saxutils import escape

COLOURS = ["#1b6ca8", "#d1495b", "#3a8f5c", "#8c6bb1", "#b07c2a", "#555555", "#2aa5a0", "#c2639b"]
WIDTH = 760
LEFT, RIGHT, TOP, FLOOR = 70, WIDTH - 20, 40, 360  # edges of the plot itself; texts are around it
CHARACTER = 6.6  # width of one, about


def bars(title, unit, groups, series):
    """Groups of bars beside each other.

    series: {name: [value or None per group]}; None leaves its place empty."""
    top = nice_top([v for values in series.values() for v in values if v is not None])
    parts = _frame(title, unit, top)
    span = (RIGHT - LEFT) / max(1, len(groups))
    slanted = any(len(str(group)) * CHARACTER > span for group in groups)
    bar = span * 0.8 / max(1, len(series))
    for g, group in enumerate(groups):
        x0 = LEFT + g * span + span * 0.1
        parts.append(_text(x0 + span * 0.4, FLOOR + 16, group, "end" if slanted else "middle", slanted=slanted))
        for s, values in enumerate(series.values()):
            if values[g] is None:
                continue
            height = values[g] / top * (FLOOR - TOP)
            parts.append(f'<rect x="{x0 + s * bar:.1f}" y="{FLOOR - height:.1f}" '
                         f'width="{bar * 0.92:.1f}" height="{height:.1f}" fill="{colour(s)}"/>')
    return _document(parts, FLOOR + (120 if slanted else 32), series)


def lines(title, x_unit, y_unit, series):
    """series: {name: [(x, y)...]}."""
    points = [p for values in series.values() for p in values]
    right = max((x for x, _ in points), default=1) or 1
    top = nice_top([y for _, y in points])
    parts = _frame(title, y_unit, top)
    for tick in ticks(right):
        parts.append(_text(LEFT + tick / right * (RIGHT - LEFT), FLOOR + 16, f"{tick:g}", "middle"))
    parts.append(_text((LEFT + RIGHT) / 2, FLOOR + 34, x_unit, "middle"))
    for s, values in enumerate(series.values()):
        path = " ".join(f"{LEFT + x / right * (RIGHT - LEFT):.1f},{FLOOR - y / top * (FLOOR - TOP):.1f}"
                        for x, y in values)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour(s)}" stroke-width="1.5"/>')
    return _document(parts, FLOOR + 50, series)


def colour(index):
    return COLOURS[index % len(COLOURS)]


def nice_top(values):
    """A round number at or above all values, at least a little above 0."""
    biggest = max(values, default=0)
    if biggest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(biggest))
    return next(m * power for m in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if m * power >= biggest * 0.999999)


def ticks(top):
    """Four to ten round marks from 0 to `top`."""
    raw = top / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999999)
    return [i * step for i in range(int(top / step + 1e-9) + 1)]


def _frame(title, unit, top):
    parts = [_text(WIDTH / 2, 20, title, "middle", 15), _text(6, TOP - 10, unit, "start")]
    for tick in ticks(top):
        y = FLOOR - tick / top * (FLOOR - TOP)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{tick:g}", "end"))
    return parts


def _text(x, y, text, anchor, size=12, slanted=False):
    turn = f' transform="rotate(-35 {x:.1f} {y:.1f})"' if slanted else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{turn}>'
            f"{escape(str(text))}</text>")


def _document(parts, y, names):
    """The parts, and from `y` down a legend, in as many lines as it takes; none for one name."""
    legend, x = [], LEFT
    for index, name in enumerate(names if len(names) > 1 else ()):
        width = 30 + CHARACTER * len(name)
        if x > LEFT and x + width > RIGHT:
            x, y = LEFT, y + 18
        legend.append(f'<rect x="{x:.0f}" y="{y}" width="10" height="10" fill="{colour(index)}"/>')
        legend.append(_text(x + 14, y + 9, name, "start"))
        x += width
    height = y + 20
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'font-family="sans-serif">\n<rect width="{WIDTH}" height="{height}" fill="white"/>\n'
            + "\n".join(parts + legend) + "\n</svg>\n")
