"""The judgement of rounds, on samples made by hand: `python3 -m unittest discover -s bench/line`."""

import unittest

import interference
import rounds
from interference import Counts, between
from rounds import Failed, Figure

BUSY = ("run-queue wait 12.0%",)


def counts(at_s=0.0, on_core_s=0.0, wait_s=0.0, preemptions=0, steal_s=0.0) -> Counts:
    return Counts(at_s, on_core_s, wait_s, preemptions, steal_s)


def script(*steps):
    """A measurement that returns or raises one of `steps` after the other."""
    left = list(steps)

    def measure():
        step = left.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    return measure


class InterferenceTest(unittest.TestCase):
    def test_a_core_of_its_own_is_no_disturbance(self):
        quiet = between(counts(10, 100), counts(12, 101.99, 0.005, 40), 1)
        self.assertEqual(quiet.reasons(), [])
        self.assertAlmostEqual(quiet.lost, 0.005)

    def test_each_kind_is_named_with_its_share(self):
        cases = [
            (counts(2, 1.985, 0.03), ["run-queue wait 1.5%"]),
            (counts(2, 2.0, 0, 0, 0.03), ["steal 1.5%"]),
            (counts(2, 1.9), ["off its core 5.0%"]),
            (counts(2, 2.0, 0, 220), ["110 involuntary context switches a second"]),
            (counts(2, 1.0, 0.9, 300, 0.2), ["run-queue wait 45.0%", "steal 10.0%", "off its core 50.0%",
                                             "150 involuntary context switches a second"]),
        ]
        for after, reasons in cases:
            self.assertEqual(between(counts(), after, 1).reasons(), reasons)

    def test_two_threads_have_twice_the_time(self):
        self.assertEqual(between(counts(), counts(2, 3.98, 0.03, 150), 2).reasons(), [])
        self.assertEqual(between(counts(), counts(2, 3.0), 2).reasons(), ["off its core 25.0%"])

    def test_the_kernels_texts_are_read(self):
        self.assertEqual(interference.schedstat_s("2500000000 1000000000 77\n"), (2.5, 1.0))
        status = "Name:\tx\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t31\n"
        self.assertEqual(interference.preemptions(status), 31)
        stat = ("cpu  9 9 9 9 9 9 9 900 0 0\ncpu0 1 2 3 4 5 6 7 50 0 0\ncpu1 1 2 3 4 5 6 7 30 0 0\n"
                "cpu10 1 2 3 4 5 6 7 1000 0 0\nintr 5\n")
        self.assertEqual(interference.steal_s(stat, [0, 1], 100), 0.8)
        self.assertEqual(interference.steal_s(stat, [1], 100), 0.3)

    def test_this_very_thread_has_counts(self):
        import os
        import pathlib
        name = pathlib.Path("/proc/self/comm").read_text().strip()
        threads = interference.Threads(os.getpid(), [("no such", name)], [0])
        before = threads.counts()
        while threads.counts().on_core_s == before.on_core_s:
            pass
        self.assertGreater(threads.since(before).on_core_s, 0)
        with self.assertRaisesRegex(LookupError, "no thread no such"):
            interference.find(os.getpid(), ("no such",), 0.05)


class TakeTest(unittest.TestCase):
    def test_an_undisturbed_figure_is_taken_at_once(self):
        repeats = []
        self.assertEqual(rounds.take(script(Figure(40.0)), "io", 1, repeats), Figure(40.0))
        self.assertEqual(repeats, [])

    def test_a_disturbed_one_is_measured_again_and_that_is_written_down(self):
        repeats = []
        measure = script(Figure(20.0, 0.5, BUSY), Failed("7 lossless frames were dropped"), Figure(41.0))
        self.assertEqual(rounds.take(measure, "two", 3, repeats), Figure(41.0))
        self.assertEqual([(one.round, one.name, one.why) for one in repeats],
                         [(3, "two", BUSY[0]), (3, "two", "7 lossless frames were dropped")])

    def test_there_is_an_end_to_it_and_the_least_disturbed_stays(self):
        repeats, lost = [], (0.5, 0.2, 0.1, 0.4)
        measure = script(*[Figure(40 - share, share, BUSY) for share in lost])
        figure = rounds.take(measure, "io", 1, repeats)
        self.assertEqual((figure.lost, figure.is_disturbed), (0.1, True))
        self.assertEqual(len(repeats), rounds.REPEATS_MAX)

    def test_drops_are_measured_again_and_held_against_a_switch_that_had_its_cores(self):
        lossy, stolen = Figure(50.0, 0.0, (), 9), Figure(30.0, 0.4, BUSY, 9)
        self.assertEqual(rounds.take(script(lossy, Figure(49.0)), "two", 1, []), Figure(49.0))
        self.assertEqual(lossy.why, "9 lossless frames dropped")
        quieter = Figure(40.0, 0.3, BUSY)
        self.assertEqual(rounds.take(script(lossy, stolen, quieter, lossy), "two", 1, []), quieter)
        self.assertEqual(rounds.drops_unexplained([stolen, quieter, Figure(50.0)]), 0)
        self.assertEqual(rounds.drops_unexplained([stolen, lossy]), 9)

    def test_no_figure_at_all_is_a_failure(self):
        with self.assertRaisesRegex(Failed, "io: it did not start"):
            rounds.take(script(*[Failed("it did not start")] * 4), "io", 1, [])


class JudgeTest(unittest.TestCase):
    def test_medians_are_of_undisturbed_rounds(self):
        figures = [Figure(40.0), Figure(5.0, 0.5, BUSY), Figure(42.0), Figure(41.0), Figure(6.0, 0.5, BUSY)]
        rate = rounds.rate(figures)
        self.assertEqual((rate.value, rate.least, rate.most), (41.0, 40.0, 42.0))
        self.assertEqual((rate.undisturbed, rate.of, rate.is_undisturbed), (3, 5, True))

    def test_a_ratio_is_disturbed_if_either_figure_is(self):
        ours = [Figure(40.0), Figure(10.0, 0.5, BUSY), Figure(44.0)]
        theirs = [Figure(50.0), Figure(50.0), Figure(50.0)]
        self.assertAlmostEqual(rounds.ratio(ours, theirs).value, 0.84)
        self.assertEqual(rounds.ratio(theirs, ours).undisturbed, 2)

    def test_with_too_few_all_rounds_count_and_the_verdict_says_so(self):
        ours = [Figure(40.0), Figure(30.0, 0.3, BUSY), Figure(31.0, 0.3, BUSY), Figure(41.0)]
        ratio = rounds.ratio(ours, [Figure(50.0)] * 4)
        self.assertAlmostEqual(ratio.value, 0.71)
        self.assertFalse(ratio.is_undisturbed)
        verdict = rounds.Verdict("csum", ratio, 0.7)
        self.assertTrue(verdict.is_met)
        self.assertIn("only 2 of 4 rounds were undisturbed: by the CPU time", str(verdict))

    def test_every_must_is_judged_and_one_that_is_missed_is_told(self):
        def of(value: float):
            return rounds.ratio([Figure(value)], [Figure(1.0)])
        ratios = {"csum": of(1.0), "ovs": of(2.51), "two_workers": of(1.59), "two_queues": of(1.8),
                  "congested": of(0.69), "io": of(0.1)}
        verdicts = rounds.judge(ratios, rounds.MUSTS)
        self.assertEqual([(verdict.name, verdict.is_met) for verdict in verdicts],
                         [("csum", True), ("ovs", True), ("two_workers", False), ("two_queues", True),
                          ("congested", False)])
        self.assertEqual(str(verdicts[2]), "NO   two_workers 1.59, must be 1.6 or more")


if __name__ == "__main__":
    unittest.main()
