"""Plots are well-formed, and what they draw is where it belongs."""

import unittest
import xml.etree.ElementTree as ElementTree

from harness import svg

NAMESPACE = {"s": "http://www.w3.org/2000/svg"}


def parsed(text):
    return ElementTree.fromstring(text)


def bars_of(document):
    """(x, y, height) of the bars: rectangles with a decimal width, which legend and ground have not."""
    return [(float(r.get("x")), float(r.get("y")), float(r.get("height")))
            for r in document.findall("s:rect", NAMESPACE) if "." in r.get("width")]


class Svg(unittest.TestCase):
    def test_bars_stand_on_the_axis_with_heights_in_proportion(self):
        bars = bars_of(parsed(svg.bars("t", "u", ["one", "two"], {"a": [1, 2], "b": [None, 4]})))
        self.assertEqual(len(bars), 3)
        for _, y, height in bars:
            self.assertAlmostEqual(y + height, svg.FLOOR, delta=0.11)
        heights = [height for _, _, height in bars]
        self.assertAlmostEqual(heights[1] / heights[0], 2, delta=0.01)
        self.assertAlmostEqual(heights[2] / heights[0], 4, delta=0.02)

    def test_a_line_goes_through_its_points(self):
        document = parsed(svg.lines("t", "s", "u", {"a": [(0, 0), (5, 10), (10, 5)]}))
        (line,) = document.findall("s:polyline", NAMESPACE)
        points = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
        self.assertEqual(points[0], (svg.LEFT, svg.FLOOR))
        self.assertEqual(points[1][1], svg.TOP)
        self.assertEqual(points[2][0], svg.RIGHT)
        self.assertAlmostEqual(points[2][1], (svg.TOP + svg.FLOOR) / 2)

    def test_names_are_escaped_and_in_the_legend(self):
        document = parsed(svg.bars("a < b & c", "u", ["g"], {"x < y": [1], "z": [2]}))
        texts = [t.text for t in document.findall("s:text", NAMESPACE)]
        self.assertIn("a < b & c", texts)
        self.assertIn("x < y", texts)
        alone = svg.bars("t", "u", ["g"], {"the only one": [1]})
        self.assertNotIn("the only one", alone)

    def test_nothing_is_outside_of_the_picture(self):
        names = [f"a rather long name of a contestant, number {i}" for i in range(8)]
        document = parsed(svg.bars("t", "u", names, {name: [1] * 8 for name in names}))
        _, _, width, height = map(float, document.get("viewBox").split())
        for element in document.findall("s:rect", NAMESPACE) + document.findall("s:text", NAMESPACE):
            self.assertTrue(0 <= float(element.get("x", 0)) <= width)
            self.assertTrue(0 <= float(element.get("y", 0)) <= height)

    def test_nothing_to_draw_is_still_a_plot(self):
        parsed(svg.bars("t", "u", [], {}))
        parsed(svg.lines("t", "s", "u", {"a": []}))
        parsed(svg.bars("t", "u", ["g"], {"a": [None]}))

    def test_axes_end_at_round_numbers_and_hold_all_values(self):
        for biggest, top in ((0.9, 1), (1.1, 1.2), (970, 1000), (2501, 3000), (0, 1), (5, 5)):
            self.assertAlmostEqual(svg.nice_top([0, biggest]), top)

    def test_ticks_are_few_and_round(self):
        self.assertEqual(svg.ticks(10), [0, 2, 4, 6, 8, 10])
        self.assertEqual(svg.ticks(60), [0, 20, 40, 60])
        for top in (0.3, 1, 7, 12, 999):
            self.assertTrue(3 <= len(svg.ticks(top)) <= 11)


if __name__ == "__main__":
    unittest.main()
