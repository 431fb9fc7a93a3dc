"""How a script looks: headings, tables, and a picture that is drawn over itself."""

import os
import shutil
import sys

IS_TERMINAL = sys.stdout.isatty()
BOLD, PLAIN = ("\033[1m", "\033[0m") if IS_TERMINAL and "NO_COLOR" not in os.environ else ("", "")


def heading(text: str):
    print(f"\n{BOLD}{text}{PLAIN}", flush=True)


def table(head: list, rows: list, left: int = 1) -> str:
    """Columns under their names; all but the first `left` of them hold numbers."""
    lines = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = []
    for line in lines:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths))
        ]
        text.append("  " + "  ".join(cells).rstrip())
    return "\n".join(text)


def result(is_so: bool, text: str):
    print(f"  {'yes' if is_so else 'NO '}  {text}", flush=True)


class Picture:
    """Text that takes the place of the text before it, on a terminal; elsewhere it follows it."""

    def __init__(self):
        self.lines = 0

    def draw(self, lines: list):
        if IS_TERMINAL:
            columns = shutil.get_terminal_size().columns
            lines = [line[: columns - 1] for line in lines]
            if self.lines:
                # Up to the first line, and everything below it away.
                print(f"\033[{self.lines}A\033[J", end="")
        elif self.lines:
            print()
        print("\n".join(lines), flush=True)
        self.lines = len(lines)
