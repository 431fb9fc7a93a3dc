"""The judgement of Fig. 15, on rounds made by hand."""

import json
import unittest

import rule_count
import switch_toml
from rule_count import COUNTS, judge


def rounds(factor=lambda count, number: 1.0, latency=lambda count, number: 1.0, of=7):
    """Rounds of a machine that slows down from one to the next."""
    return [{count: {"mpps": 40 * 0.9 ** number * factor(count, number),
                     "p50_ns": 2_000 * 1.1 ** number * latency(count, number), "p99_ns": 9_000}
             for count in COUNTS} for number in range(of)]


class FlatTest(unittest.TestCase):
    def test_a_machine_that_slows_down_is_flat(self):
        self.assertEqual(judge(rounds()), [])

    def test_a_search_of_all_rules_is_not(self):
        wrong = judge(rounds(lambda count, _: 1 / (1 + count / 1_000)))
        self.assertEqual([line.split(":")[1].split()[0] for line in wrong], ["64", "256", "1024", "4096"])
        self.assertTrue(judge(rounds(latency=lambda count, _: 1 + count / 1_000)))

    def test_noise_excuses_what_the_rounds_differ_by_and_no_more(self):
        noisy = lambda count, number: 1 + (0.1 if number % 2 else -0.1) * (count > 1)
        self.assertEqual(judge(rounds(noisy)), [])
        self.assertTrue(judge(rounds(lambda count, number: 0.5 * noisy(count, number) if count > 64 else 1.0)))

    def test_no_rules_are_shown_and_not_judged(self):
        self.assertEqual(judge(rounds(lambda count, _: 2.0 if count == 0 else 1.0)), [])


class RulesTest(unittest.TestCase):
    def test_the_rule_that_matches_is_the_last(self):
        for count in COUNTS[1:]:
            entries = json.loads(switch_toml.rules(count))["entries"]
            self.assertEqual(len(entries), count)
            self.assertEqual([entry["tag"] for entry in entries].index(1), count - 1)
        self.assertNotIn("rules.json", switch_toml.switch([], [1], "socket", "15KB", False))
        self.assertIn('rules = "rules.json"\n', switch_toml.switch([], [1], "socket", "15KB", True))


if __name__ == "__main__":
    unittest.main()
