"""Markdown tables."""

import unittest

from harness.text_table import markdown


class Markdown(unittest.TestCase):
    def test_columns_are_padded_and_numbers_aligned_right(self):
        self.assertEqual(markdown(["", "rate"], [["xfer", 5], ["stock UDT4", "1.8"]]),
                         "|            | rate |\n"
                         "| ---------- | ---: |\n"
                         "| xfer       |    5 |\n"
                         "| stock UDT4 |  1.8 |")

    def test_a_bar_in_a_cell_does_not_end_it(self):
        self.assertIn("a\\|b", markdown(["x"], [["a|b"]]))

    def test_rows_of_another_length_are_refused(self):
        with self.assertRaises(ValueError):
            markdown(["a", "b"], [["only one"]])


if __name__ == "__main__":
    unittest.main()
