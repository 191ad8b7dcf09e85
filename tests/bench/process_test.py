"""Child processes: output, limits, processor time."""

import sys
import time
import unittest

from harness.process import Process, run


class Processes(unittest.TestCase):
    def test_output_and_status(self):
        ended = Process(["sh", "-c", "echo out; echo err >&2; exit 3"]).wait(10)
        self.assertEqual((ended.status, ended.timed_out, ended.output), (3, False, "out\nerr\n"))
        self.assertFalse(ended.good)

    def test_a_line_is_awaited(self):
        process = Process(["sh", "-c", "echo noise; echo port 17; exec sleep 60"])
        self.assertEqual(process.line_after("port "), "17")
        self.assertEqual(process.stop().status, 128 + 15)

    def test_a_line_that_never_comes_is_an_error_with_the_output(self):
        with self.assertRaisesRegex(RuntimeError, "something else"):
            Process(["echo", "something else"]).line_after("port ")

    def test_one_that_takes_too_long_is_killed_with_its_children(self):
        begin = time.monotonic()
        ended = Process(["sh", "-c", "sleep 60 & wait"]).wait(0.1)
        self.assertTrue(ended.timed_out)
        self.assertLess(time.monotonic() - begin, 30)

    def test_processor_time_includes_children(self):
        spin = "import time\nwhile time.process_time() < 0.2: pass"
        ended = Process(["sh", "-c", '"$@"; true', "sh", sys.executable, "-c", spin]).wait(60)
        self.assertGreaterEqual(ended.cpu, 0.2)

    def test_run_raises_what_failed(self):
        self.assertEqual(run(["echo", "fine"]), "fine\n")
        with self.assertRaisesRegex(RuntimeError, "no such thing"):
            run(["sh", "-c", "echo no such thing; exit 1"])


if __name__ == "__main__":
    unittest.main()
