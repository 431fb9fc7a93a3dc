"""Pictures that Graphviz draws."""

import pathlib
import re
import subprocess

from common.door import ROOT
from common.lab import Failed

KNOT = ROOT / "config" / "examples" / "knot"
# Stages in a row of the pipeline.
COLUMNS = 5
STYLE = '''
graph [fontname="sans-serif"];
node [fontname="sans-serif" fontsize=11];
edge [fontname="sans-serif" fontsize=9];
'''


def draw(dot: str, file: pathlib.Path) -> list:
    """Writes `dot` as an SVG file."""
    styled = dot.replace("{", "{\n" + STYLE, 1)
    drawn = subprocess.run(["dot", "-Tsvg"], input=styled, capture_output=True, text=True, check=True)
    # Which version of Graphviz drew it, or of which system's, changes nothing that is seen.
    svg = re.sub(r"<!-- Generated.*?-->\n", "", drawn.stdout, flags=re.S)
    file = file.with_suffix(".svg")
    file.write_text(svg)
    return [file]


def stages() -> list:
    """The stages of the packet path with what each drops, from ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.split("| stage | file |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in row.strip(" |").split("|")] for row in table.splitlines()[2:]]
    if len(rows) < 10 or any(len(row) != 3 for row in rows):
        raise Failed("ARCHITECTURE.md: the table of the stages has another form")
    return rows


def node(name: str, stage: str, files: str, drops: str) -> str:
    """A stage: its name, its files, and the causes of drops that are its own."""
    lines = [f"<b>{stage}</b>", small(" ".join(re.findall(r"`([^`]+)`", files)))]
    causes = drops if re.fullmatch(r"[a-z_, .]+", drops) and drops != "none" else ""
    if causes:
        lines.append(small(causes.replace(", ", "<br/>"), ' color="#a03000"'))
    label = "<br/>".join(lines)
    color = "#f6e3db" if causes else "#dbe9f6"
    return f'{name} [shape=box style="filled,rounded" fillcolor="{color}" label=<{label}>];'


def small(text: str, more: str = "") -> str:
    return f'<font point-size="9"{more}>{text}</font>'


def pipeline(_lab, file: pathlib.Path) -> list:
    """The stages in their order, in rows that turn at their ends, and the pause."""
    table = stages()
    names = ["rx", *(f"n{number}" for number in range(len(table))), "tx"]
    admit = names[1 + [stage for stage, *_ in table].index("admit")]
    lines = ['rx [shape=plaintext label="RX ring"];', 'tx [shape=plaintext label="TX ring"];']
    lines += [node(name, *row) for name, row in zip(names[1:], table)]
    rows = [names[first:first + COLUMNS] for first in range(0, len(names), COLUMNS)]
    for number, row in enumerate(rows):
        pairs = list(zip(row, row[1:]))
        if number % 2:
            arrows = [f"{end} -> {start} [dir=back];" for start, end in reversed(pairs)]
        else:
            arrows = [f"{start} -> {end};" for start, end in pairs]
        lines.append("{ rank=same; " + " ".join(arrows) + " }")
    lines += [f"{above[-1]} -> {below[0]};" for above, below in zip(rows, rows[1:])]
    lines.append(f'{admit} -> rx [constraint=false style=dashed label="PFC: XOFF, XON"];')
    return draw("digraph pipeline { ranksep=0.35; nodesep=0.3;\n" + "\n".join(lines) + "\n}\n", file)


def verified(lab, rules: pathlib.Path, status: int) -> str:
    """What `knotless verify` draws of the ring of `make knot` with these rules."""
    dot = lab.folder / "waits.dot"
    command = [lab.knotless, "verify", KNOT / "network.toml", "--rules", rules, "--dot", dot]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != status:
        raise Failed(f"verify ended with {done.returncode}: {done.stderr or done.stdout}")
    return dot.read_text()


def ring_before(lab, file: pathlib.Path) -> list:
    """The cycle of plain PFC."""
    return draw(verified(lab, KNOT / "plain", 1), file)


def ring_after(lab, file: pathlib.Path) -> list:
    """The buffers of the same paths, with the compiler's rules."""
    rules = lab.folder / "rules"
    lab.run([lab.knotless, "compile", KNOT / "network.toml", "--out", rules])
    return draw(verified(lab, rules, 0), file)
