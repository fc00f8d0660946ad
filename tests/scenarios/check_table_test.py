"""Every reason to refuse the table of scenarios, once."""

import sys
import unittest

sys.dont_write_bytecode = True

from check_table import plain, problems  # noqa: E402

GOOD = """
| id | scenario | shown by |
|---|---|---|
| T1 | one | `Suite.Test`, `simulation.catches.bug` |
| T2 | two | not yet: nobody wrote it |
"""
TESTS = ["Stores/Suite.Test/memory", "simulation.catches.bug", "Other.Test"]


class Table(unittest.TestCase):
    def told(self, text=GOOD, tests=TESTS, **more):
        return "\n".join(problems(text, tests, ids=["T1", "T2"], ours=("Suite.",), **more))

    def test_one_that_is_right_is_accepted(self):
        self.assertEqual(self.told(), "")

    def test_a_test_that_does_not_exist_is_told(self):
        self.assertIn("Suite.Test, which does not exist", self.told(tests=TESTS[1:]))

    def test_what_this_build_does_not_have_may_be_left_out(self):
        self.assertIn("simulation.catches.bug", self.told(tests=TESTS[:1]))
        self.assertEqual(self.told(tests=TESTS[:1], left_out=["simulation.catches."]), "")

    def test_a_missing_id_is_told(self):
        self.assertIn("T2 has no row", self.told(GOOD.replace("| T2 |", "| |")))

    def test_a_doubled_id_is_told(self):
        self.assertIn("has a row already", self.told(GOOD.replace("T2", "T1")))

    def test_an_unknown_id_is_told(self):
        self.assertIn("T9 is not in", self.told(GOOD + "| T9 | x | not yet: x |\n"))

    def test_a_row_that_says_nothing_is_told(self):
        self.assertIn("T2 names no test", self.told(GOOD.replace("not yet: ", "soon ")))

    def test_a_scenario_in_no_row_is_told(self):
        self.assertIn("Suite.New is in no row", self.told(tests=TESTS + ["Stores/Suite.New/memory"]))

    def test_a_name_stands_for_the_test_on_every_store(self):
        self.assertEqual(plain("Stores/Suite.Test/sqlite"), "Suite.Test")
        self.assertEqual(plain("Stores/Suite.Test/sqlite  # GetParam() = sqlite"), "Suite.Test")
        self.assertEqual(plain("simulation.catches.bug"), "simulation.catches.bug")


if __name__ == "__main__":
    unittest.main()
