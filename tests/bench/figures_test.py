"""Statistics and how numbers are written."""

import unittest

from harness.figures import (jain_index, longest_pause, number, rate_between, rates, rotated, spread,
                             summary, value_at)


class Figures(unittest.TestCase):
    def test_median_of_odd_and_even_numbers(self):
        self.assertEqual(summary([5, 1, 3]), (3, 1, 5))
        self.assertEqual(summary([4, 1, 3, 2]), (2.5, 1, 4))

    def test_three_significant_digits(self):
        for value, text in ((0, "0"), (0.00123, "0.0012"), (0.5, "0.500"), (0.9996, "1.00"), (9.994, "9.99"),
                            (9.996, "10.0"), (12.34, "12.3"), (99.96, "100"), (1234.5, "1234"), (-2.5, "-2.50")):
            self.assertEqual(number(value), text)

    def test_spread_names_median_and_ends(self):
        self.assertEqual(spread([3, 1, 2]), "2.00 (1.00 ... 3.00)")
        self.assertEqual(spread([2]), "2.00")
        self.assertEqual(spread([]), "-")

    def test_jain_index_is_one_for_equals_and_one_nth_for_a_monopoly(self):
        self.assertEqual(jain_index([7, 7, 7]), 1)
        self.assertEqual(jain_index([1, 0, 0, 0]), 0.25)
        self.assertAlmostEqual(jain_index([1, 2]), 0.9)
        self.assertEqual(jain_index([0, 0]), 0)

    def test_every_round_starts_with_another(self):
        items = ["a", "b", "c"]
        self.assertEqual([rotated(items, n)[0] for n in range(4)], ["a", "b", "c", "a"])
        self.assertEqual(rotated(items, 1), ["b", "c", "a"])
        self.assertEqual(rotated([], 3), [])


class Samples(unittest.TestCase):
    STEADY = [(0.0, 0), (1.0, 100), (2.0, 200), (4.0, 400)]

    def test_values_between_samples_are_interpolated(self):
        self.assertEqual(value_at(self.STEADY, 3), 300)
        self.assertEqual(value_at(self.STEADY, -1), 0)
        self.assertEqual(value_at(self.STEADY, 9), 400)

    def test_rate_is_of_the_interval_asked_for(self):
        self.assertEqual(rate_between(self.STEADY, 0.5, 3.5), 100)
        self.assertEqual(rate_between([(0, 0), (1, 100), (2, 100)], 0, 2), 50)
        self.assertEqual(rate_between([], 0, 1), 0)

    def test_rates_over_time_have_the_middle_of_their_step(self):
        self.assertEqual(rates(self.STEADY, 2), [(1, 100), (3, 100)])
        self.assertEqual(rates([], 1), [])

    def test_longest_pause_is_between_growths(self):
        samples = [(0, 0), (1, 10), (2, 10), (3, 10), (4, 20), (5, 30)]
        self.assertEqual(longest_pause(samples, 0, 5), 3)

    def test_longest_pause_counts_the_end_and_leaves_out_what_is_before(self):
        self.assertEqual(longest_pause([(0, 0), (1, 10), (2, 10), (9, 10)], 0, 9), 8)
        self.assertEqual(longest_pause([(0, 0), (5, 10), (6, 20), (7, 30)], 5.5, 7), 1)

    def test_nothing_at_all_is_one_long_pause(self):
        self.assertEqual(longest_pause([], 1, 4), 3)


if __name__ == "__main__":
    unittest.main()
