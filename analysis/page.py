"""Building blocks of self-contained HTML pages: one file, no script, no request, light and dark."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

CSS = """
:root{color-scheme:light dark;--ink:#1d1f23;--soft:#5a606b;--line:#d5d9e0;--back:#fff;--raised:#f5f6f8;
--warn:#8a4b08;--warnback:#fdf1e2;--bad:#9b2c2c;--link:#1f5fa8}
@media (prefers-color-scheme:dark){:root{--ink:#e4e6ea;--soft:#a2a9b5;--line:#3a3f48;--back:#15171a;
--raised:#1e2125;--warn:#f0b265;--warnback:#33260f;--bad:#f19999;--link:#7fb2ee}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:1.5rem 1rem 4rem;background:var(--back);color:var(--ink);
font:16px/1.5 system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}h2{font-size:1.25rem;margin:2.4rem 0 .6rem}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}
p{max-width:46rem}.soft{color:var(--soft)}a{color:var(--link)}code{font-size:.9em;overflow-wrap:anywhere}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:.3rem 0}
th,td{padding:.3rem .7rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{font-weight:600}td.n,th.n{text-align:right;white-space:nowrap}
tr.first td,tr.first th{border-top:2px solid var(--line)}
.small{font-size:.78rem;color:var(--soft);white-space:normal;min-width:11rem}.notes{min-width:19rem}
.flag{display:inline-block;font-size:.8rem;padding:0 .45rem;border-radius:.6rem;background:var(--warnback);
color:var(--warn);margin:0 .25rem .15rem 0}
.note{border-left:3px solid var(--line);padding:.1rem 0 .1rem .8rem;color:var(--soft);margin:.8rem 0}
figure{margin:1rem 0}figure svg{max-width:100%;height:auto}figcaption{color:var(--soft);font-size:.9rem}
details{margin:.6rem 0}summary{cursor:pointer}
@media print{body{max-width:none}details{display:block}}
"""


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is already HTML; anything else is escaped where it is used."""

    text: str


Content = Html | str


def html(content: Content) -> str:
    """Return ``content`` as HTML text, escaped unless it is HTML already."""
    return content.text if isinstance(content, Html) else escape(content)


def join(parts: Iterable[Content]) -> Html:
    """Return the parts one after the other."""
    return Html("\n".join(html(part) for part in parts))


def tag(name: str, content: Content, **attributes: str) -> Html:
    """Return an element; ``class_`` stands for ``class``."""
    written = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{written}>{html(content)}</{name}>")


def paragraph(content: Content, class_: str = "") -> Html:
    """Return a paragraph."""
    return tag("p", content, class_=class_) if class_ else tag("p", content)


def section(title: str, *parts: Content) -> Html:
    """Return a heading with what belongs below it."""
    return join([tag("h2", title, id=anchor(title)), *parts])


def anchor(title: str) -> str:
    """Return the name by which a heading can be linked to."""
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())


def flag(words: str) -> Html:
    """Return a short warning."""
    return tag("span", words, class_="flag")


def figure(svg: str, caption: Content) -> Html:
    """Return a plot with its caption."""
    return Html(f"<figure>{svg}<figcaption>{html(caption)}</figcaption></figure>")


def fold(summary: str, *parts: Content) -> Html:
    """Return something that is only seen when asked for."""
    return Html(f"<details><summary>{escape(summary)}</summary>{join(parts).text}</details>")


def grid(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Content]], numbers: Iterable[int] = ()
) -> Html:
    """Return a table.

    Args:
        caption: What it shows.
        heads: Names of the columns.
        rows: One content per column; the first names the row.
        numbers: Columns whose contents are set to the right.
    """
    right = set(numbers)

    def cell(name: str, column: int, content: Content, scope: str) -> str:
        kind = ' class="n"' if column in right else ""
        return f"<{name}{kind}{scope}>{html(content)}</{name}>"

    head = "".join(cell("th", i, name, ' scope="col"') for i, name in enumerate(heads))
    lines = []
    for row in rows:
        cells = [cell("td", i, content, "") for i, content in enumerate(row)]
        if row and html(row[0]):
            cells[0] = cell("th", 0, row[0], ' scope="row"')
            lines.append(f'<tr class="first">{"".join(cells)}</tr>')
        else:
            lines.append(f"<tr>{''.join(cells)}</tr>")
    return Html(
        f'<div class="scroll"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def page(title: str, subtitle: Content, *parts: Content) -> str:
    """Return a whole document."""
    body = join([tag("h1", title), paragraph(subtitle, "soft"), *parts]).text
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}</style></head>\n<body>\n{body}\n</body></html>\n"
    )
