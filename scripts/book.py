"""Builds the book, target/book, so that it is complete by itself: the files of the project that its pages
link to become pages of it, and no link is dead.

Usage: python3 scripts/book.py
"""

import html
import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BOOK = ROOT / "target" / "book"
FILES = BOOK / "files"

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{name}</title>
<style>body {{ max-width: 110ch; margin: 2em auto; padding: 0 1em; font: 14px sans-serif }}</style>
</head><body><h1>{name}</h1>{body}</body></html>
"""


def source(path: pathlib.Path) -> pathlib.Path | None:
    """The file of the project that a link to `path`, outside the book, means. Links to Markdown
    files have been made links to HTML files by mdbook."""
    for candidate in (path, path.with_suffix(".md")):
        if candidate.exists() and ROOT in candidate.parents:
            return candidate
    return None


def page_of(file: pathlib.Path) -> pathlib.Path:
    """The page that shows `file`, a file or folder of the project; written if it is missing."""
    if file.name == "README.md" and DOCS in file.parents:
        # mdbook calls the page of a folder so.
        return BOOK / file.parent.relative_to(DOCS) / "index.html"
    name = file.relative_to(ROOT)
    page = FILES / name.parent / f"{name.name}.html"
    if page.exists():
        return page
    page.parent.mkdir(parents=True, exist_ok=True)
    page.touch()
    if file.is_dir():
        entries = [(entry.name, page_of(entry)) for entry in sorted(file.iterdir())
                   if not entry.name.startswith(".")]
        links = [f'<li><a href="{relative(entry, page)}">{html.escape(text)}</a></li>'
                 for text, entry in entries]
        body = f"<ul>{''.join(links)}</ul>"
    else:
        body = f"<pre>{html.escape(file.read_text(errors='replace'))}</pre>"
    page.write_text(PAGE.format(name=html.escape(str(name)), body=body))
    return page


def relative(to: pathlib.Path, page: pathlib.Path) -> str:
    """The link from `page` to `to`."""
    up = len(page.relative_to(BOOK).parts) - 1
    return urllib.parse.quote("../" * up + str(to.relative_to(BOOK)))


def mended(page: pathlib.Path, dead: list) -> str:
    """The text of `page` with links that lead out of the book changed; dead ones are added to `dead`."""
    folder = DOCS / page.relative_to(BOOK).parent

    def link(match: re.Match) -> str:
        target = urllib.parse.urlsplit(html.unescape(match[2]))
        if target.scheme or target.netloc or not target.path:
            return match[0]
        path = urllib.parse.unquote(target.path)
        if path.startswith("/") or (page.parent / path).resolve().exists():
            return match[0]
        file = source((folder / path).resolve())
        if file is None:
            dead.append(f"{page.relative_to(BOOK)}: {target.path}")
            return match[0]
        return f'{match[1]}="{relative(page_of(file), page)}"'

    return re.sub(r'\b(href|src)="([^"]*)"', link, page.read_text())


def main() -> int:
    subprocess.run([ROOT / "scripts" / "mdbook.sh", "build", DOCS], check=True)
    pages, dead = sorted(BOOK.rglob("*.html")), []
    for page in pages:
        page.write_text(mended(page, dead))
    for line in dead:
        print(f"book: a dead link: {line}", file=sys.stderr)
    print(f"book: {len(pages)} pages and {len(list(FILES.rglob('*.html')))} files: {BOOK / 'index.html'}")
    return 1 if dead else 0


sys.exit(main())
