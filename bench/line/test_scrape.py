"""The judgement of `make bench-scrape`, on rounds made by hand."""

import unittest

from scrape import Window, judge, ratios

WELL = "imbalance 0\n"


def rounds(scraped: float = 1.0, pages: int = 300, of: int = 9) -> list[dict[str, Window]]:
    """Rounds of a machine that slows down from one to the next, and gives the worker less by the clock."""
    made = []
    for number in range(of):
        mpps = 20 * 0.9 ** number
        made.append({"quiet": Window(mpps, mpps, 0), "again": Window(mpps, mpps * 0.5, 0.5),
                     "scraped": Window(mpps * scraped, mpps * scraped * 0.5, 0.5, pages)})
    return made


class ScrapeTest(unittest.TestCase):
    def test_a_machine_that_slows_down_and_has_other_work_costs_nothing(self):
        self.assertEqual(judge(rounds(), 9 * 300, WELL), [])
        self.assertEqual(ratios(rounds(), "again", "had"), [1.0] * 9)

    def test_two_per_cent_may_be_lost_and_no_more(self):
        self.assertEqual(judge(rounds(0.981), 9 * 300, WELL), [])
        self.assertEqual(len(judge(rounds(0.979), 9 * 300, WELL)), 1)

    def test_pages_that_were_not_read_show_nothing(self):
        self.assertIn("were due", judge(rounds(pages=200), 9 * 300, WELL)[0])

    def test_a_balance_that_is_off_is_wrong(self):
        self.assertEqual(len(judge(rounds(), 9 * 300, "imbalance 7\n")), 1)


if __name__ == "__main__":
    unittest.main()
