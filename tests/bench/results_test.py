"""From records to cells, and every table's text and plots from records alone."""

import io
import unittest
from contextlib import redirect_stderr

import main
from harness.results import Result
from tables import TABLES
from tables.syscalls import call_summary, count_calls


def raw(*records, table="loopback", **parameters):
    return {"version": 1, "table": table, "machine": "m", "revision": "r", "started": "now", "command": "c",
            "names": {"xfer": "xfer", "tuned": "stock, tuned"}, "parameters": parameters,
            "records": [{"row": "a", "contestant": "xfer", **r} for r in records]}


class Results(unittest.TestCase):
    def test_a_cell_is_the_spread_of_the_good_runs(self):
        result = Result(raw({"seconds": 1}, {"seconds": 3}, {"seconds": 2}))
        self.assertEqual(result.cell("a", "xfer", "seconds"), "2.00 (1.00 ... 3.00)")
        self.assertEqual(result.median("a", "xfer", lambda r: r["seconds"] * 2), 4)

    def test_failures_are_told_never_left_out(self):
        some = Result(raw({"seconds": 1}, {"failed": "wrong content"}))
        self.assertEqual(some.cell("a", "xfer", "seconds"), "1.00, 1 of 2 failed")
        every = Result(raw({"failed": "over 90 s"}, {"failed": "over 90 s"}))
        self.assertEqual(every.cell("a", "xfer", "seconds"), "over 90 s")
        self.assertIsNone(every.median("a", "xfer", "seconds"))

    def test_what_was_not_run_is_a_dash(self):
        self.assertEqual(Result(raw({"seconds": 1})).cell("a", "tuned", "seconds"), "-")

    def test_a_figure_that_a_run_lacks_is_no_value(self):
        self.assertEqual(Result(raw({"timeouts": None})).cell("a", "xfer", "timeouts"), "-")

    def test_who_is_not_installed_is_named_and_in_no_table(self):
        result = Result(raw({"seconds": 1}, {"row": "", "contestant": "tuned", "failed": "not installed: udt"}))
        self.assertEqual(result.missing(), ["stock, tuned: not installed: udt"])
        self.assertEqual(result.contestants(), ["xfer"])
        self.assertEqual(result.rows(), ["a"])


    def test_what_the_emulator_lost_by_itself_is_told(self):
        way = {"dropped": {"loss": 100, "queue": 7, "device": 2, "memory": 1}}
        told = raw({"seconds": 1}) | {"lab": {"a": {"a_to_b": way, "b_to_a": {"dropped": {"device": 0}}, "seconds": 9.5}}}
        self.assertEqual(Result(told).emulator_losses(), {"a": 3})
        self.assertIn("a: the emulator lost 3 packets", main.text(TABLES["loopback"], told))
        self.assertEqual(Result(raw({"seconds": 1})).emulator_losses(), {})


class Tables(unittest.TestCase):
    def test_every_table_can_be_rendered_when_everything_failed(self):
        for name, table in TABLES.items():
            if name == "paper-table2":  # it has nobody who could fail
                continue
            with self.subTest(name):
                result = raw({"failed": "over 90 s", "over_s": 90}, table=name, bytes=1 << 30)
                self.assertIn(table.title, main.text(table, result))
                table.plots(Result(result))

    def test_the_loopback_table_has_its_ratios(self):
        def run(key, seconds):
            return {"row": "loopback", "contestant": key, "seconds": seconds, "bytes": 10**9,
                    "sender_cpu_s": seconds / 2, "receiver_cpu_s": seconds / 2}

        text = main.text(TABLES["loopback"], raw(run("xfer", 1), run("tuned", 4), run("bare", 0.5)))
        (line,) = [line for line in text.splitlines() if line.startswith("| xfer")]
        self.assertEqual([c.strip() for c in line.split("|")[2:-1]], ["8.00", "1.00", "4.00", "0.250", "0.500"])

    def test_time_and_multiple_of_the_ideal(self):
        text = main.text(TABLES["lossy"], raw({"row": "1 %", "seconds": 20, "bytes": 1456 * 10**6},
                                              table="lossy", bytes=1456 * 10**6))
        self.assertIn("Ideal: 12.0 s", text)
        self.assertIn("20.0, 1.67x", text)


class Commands(unittest.TestCase):
    def test_the_command_that_is_recorded_repeats_the_run(self):
        words = ["lossy", "--runs", "3", "--quick", "--only", "xfer", "--xfer-send=--cc bbr"]
        told = main.command("lossy", main.parse(words + ["--out", "elsewhere"]))
        self.assertEqual(told, "scripts/bench lossy --runs 3 --quick --only xfer '--xfer-send=--cc bbr'")
        self.assertEqual(main.command("rtts", main.parse(["all"])), "scripts/bench rtts")

    def test_unknown_tables_are_refused(self):
        for words in (["nothing"], ["render"], ["publish", "dir"], ["lossy", "--runs", "0"]):
            with self.assertRaises(SystemExit), redirect_stderr(io.StringIO()):
                main.parse(words)


class Documents(unittest.TestCase):
    def test_a_place_is_filled_and_filled_again(self):
        empty = "before\n<!-- bench: rtts -->\n<!-- /bench -->\n<!-- bench: sim -->\nkeep\n<!-- /bench -->\n"
        once = main.fill(empty, "rtts", "one \\1\n")
        self.assertEqual(once, "before\n<!-- bench: rtts -->\n\none \\1\n\n<!-- /bench -->\n"
                               "<!-- bench: sim -->\nkeep\n<!-- /bench -->\n")
        self.assertEqual(main.fill(main.fill(empty, "rtts", "two\n"), "rtts", "one \\1\n"), once)
        self.assertEqual(main.fill(empty, "lossy", "x"), empty)


class SystemCalls(unittest.TestCase):
    LOG = ('recvmsg(5<socket:[71]>, {...}, 0) = 1472\n'
           'recvmmsg(5<UDP:[127.0.0.1:9]>, 0x1, 64, 0, NULL) = -1 EAGAIN (Resource temporarily unavailable)\n'
           'writev(7</dev/shm/t/.part>, [{...}], 1) = 11648\n'
           'pwrite64(7</dev/shm/t/.part>, ""..., 100, 11648) = 100\n'
           'write(4<anon_inode:[eventfd]>, ""..., 8) = 8\n'
           'write(1<pipe:[3]>, ""..., 20) = 20\n')

    def test_writes_to_files_and_receives_from_sockets_are_counted(self):
        self.assertEqual(count_calls(self.LOG, {}),
                         {"receive_calls": 2, "empty_receives": 1, "write_calls": 2, "write_bytes": 11748,
                          "wakeups": 1})

    def test_threads_add_up(self):
        self.assertEqual(count_calls(self.LOG, count_calls(self.LOG, {}))["write_calls"], 4)

    def test_the_summary_of_strace(self):
        text = ("% time     seconds  usecs/call     calls    errors syscall\n"
                "------ ----------- ----------- --------- --------- ----------------\n"
                " 99.61    0.500000           4    102987           writev\n"
                "  0.39    0.001000           4       250        12 futex\n"
                "------ ----------- ----------- --------- --------- ----------------\n"
                "100.00    0.501000           4    103237        12 total\n")
        self.assertEqual(call_summary(text), {"writev": (99.61, 102987), "futex": (0.39, 250)})


if __name__ == "__main__":
    unittest.main()
