"""The look of a view: a palette for light and dark, and a style sheet whose rules apply inside the view only.

Color never carries meaning alone: a document has a letter and a border of its own as well, and a hit a filled dot.
"""

from __future__ import annotations

from collections.abc import Mapping

LIGHT = {
    "paper": "#ffffff", "raised": "#f5f6f8", "line": "#d5dae1", "ink": "#1b2027", "soft": "#525a65", "link": "#0b57d0",
    "mark": "#fff0a3", "gone": "#eceef1", "found": "#c9f2d0", "found-ink": "#0d6b2c",
    "d0": "#0b4f9e", "d0-tint": "#e8f1fc", "d1": "#1d6137", "d1-tint": "#e6f4ea",
    "d2": "#6a2c91", "d2-tint": "#f4eafa", "d3": "#754600", "d3-tint": "#fdf1dc",
    "d4": "#9b1f4c", "d4-tint": "#fdeaf1", "d5": "#0a5a61", "d5-tint": "#e0f4f5",
    "method": "#8a3b00", "method-tint": "#ffe9d6", "keywords": "#a3151b", "keywords-tint": "#ffe5e5",
    "expansion": "#005b70", "expansion-tint": "#dcf5fb",
}  # fmt: skip
DARK = {
    "paper": "#14171c", "raised": "#1d2129", "line": "#3a414c", "ink": "#e6e9ee", "soft": "#aab2be", "link": "#8ab4f8",
    "mark": "#4f430c", "gone": "#2a2f38", "found": "#14512a", "found-ink": "#7fe0a0",
    "d0": "#9cc3ff", "d0-tint": "#17273d", "d1": "#8fd6a6", "d1-tint": "#16301f",
    "d2": "#d6aef2", "d2-tint": "#2d1d3a", "d3": "#f0c374", "d3-tint": "#36280f",
    "d4": "#ffa6c4", "d4-tint": "#3b1a27", "d5": "#7fd6dc", "d5-tint": "#0f3034",
    "method": "#ffb77a", "method-tint": "#3b2410", "keywords": "#ff9d9d", "keywords-tint": "#3f1717",
    "expansion": "#7adcf2", "expansion-tint": "#0d323b",
}  # fmt: skip
COLOR_COUNT = 6
BORDERS = ("solid", "double", "dashed", "dotted")
"""Borders of documents; with the six colors they make twelve different looks."""
CONTRAST_PAIRS = (
    *((text, back) for text in ("ink", "soft", "link") for back in ("paper", "raised")),
    *(("ink", back) for back in ("mark", "gone", *(f"d{n}-tint" for n in range(COLOR_COUNT)))),
    *(("soft", back) for back in ("gone", *(f"d{n}-tint" for n in range(COLOR_COUNT)))),
    *((f"d{n}", back) for n in range(COLOR_COUNT) for back in ("paper", "raised", f"d{n}-tint")),
    ("ink", "found"),
    *((text, back) for text in ("found-ink", "keywords") for back in ("paper", "raised")),
    *((f"{name}", f"{name}-tint") for name in ("method", "keywords", "expansion")),
)
"""Each text color with each background it is used on, for the tests of contrast."""


def document_class(number: int) -> str:
    """Return the CSS classes with the color and the border of document `number`, from 0."""
    return f"cxa-d{number % COLOR_COUNT} cxa-b{number % len(BORDERS)}"


def document_letter(number: int) -> str:
    """Return the letter of document `number`, from 0: A to Z, then AA.

    >>> document_letter(0), document_letter(26)
    ('A', 'AA')
    """
    return (document_letter(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def _css_variables(colors: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colors.items())


_DOCUMENTS = "".join(
    f".cxa .cxa-d{n}{{--doc:var(--d{n});--tint:var(--d{n}-tint)}}" for n in range(COLOR_COUNT)
) + "".join(f".cxa .cxa-b{n}{{--border:{style}}}" for n, style in enumerate(BORDERS))

_RULES = """
.cxa{container-type:inline-size;box-sizing:border-box;max-width:82rem;margin:0 auto;padding:1.5rem;
 background:var(--paper);color:var(--ink);
 font:400 14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;text-align:left;border-radius:12px;
 overflow-wrap:anywhere;-webkit-text-size-adjust:100%}
.cxa *{box-sizing:border-box}
.cxa h2,.cxa h3,.cxa h4{font-family:inherit;color:var(--ink);line-height:1.25;font-weight:650;letter-spacing:-.01em}
.cxa h2{font-size:22px;margin:0}
.cxa h3{font-size:16px;margin:2.25rem 0 .25rem}
.cxa h4{font-size:13px;margin:1.25rem 0 .4rem}
.cxa p{margin:.25rem 0;font-size:inherit}
.cxa a{color:var(--link);text-decoration:none}
.cxa a:hover{text-decoration:underline}
.cxa :focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:4px}
.cxa .cxa-soft,.cxa .cxa-more{color:var(--soft)}
.cxa .cxa-more{font-style:italic;padding:.4rem 0}
.cxa .cxa-lede{max-width:60rem;margin:.75rem 0;font-size:16px}
.cxa .cxa-lede b{font-weight:650}
.cxa .cxa-does{color:var(--soft);font-size:12.5px;font-weight:400}
.cxa .cxa-facts{display:flex;flex-wrap:wrap;gap:.5rem 2.25rem;margin:1rem 0 .25rem;padding:0;list-style:none}
.cxa .cxa-facts li{margin:0;padding:0;color:var(--soft)}
.cxa .cxa-facts b{display:block;color:var(--ink);font-size:20px;font-weight:600;line-height:1.3;
 font-variant-numeric:tabular-nums}
.cxa .cxa-bar{display:flex;height:30px;margin:1rem 0 .75rem;border-radius:7px;overflow:hidden;background:var(--raised);
 border:1px solid var(--line)}
.cxa .cxa-bar span{min-width:0;overflow:hidden;text-align:center;font-size:12px;font-weight:650;line-height:28px;
 color:var(--doc,var(--soft));background-color:var(--tint,var(--gone));border-right:2px var(--border,solid)
 var(--doc,var(--line))}
.cxa .cxa-bar .cxa-free{background:none;border:0;font-weight:400}
.cxa .cxa-over{display:block;height:10px;margin:.75rem 0 .35rem;min-width:4px;border:1px solid var(--soft);
 border-radius:4px;background:repeating-linear-gradient(45deg,var(--gone) 0 4px,var(--soft) 4px 5px)}
.cxa .cxa-key{display:inline-block;min-width:1.7em;padding:0 .4em;text-align:center;font-size:12px;font-weight:650;
 line-height:1.6;color:var(--doc,var(--soft));background:var(--tint,var(--gone));border-radius:4px;
 border-left:3px var(--border,solid) var(--doc,var(--line))}
.cxa .cxa-legend{display:flex;flex-wrap:wrap;gap:.3rem 1.5rem;margin:0;padding:0;list-style:none;color:var(--soft);
 font-size:13px}
.cxa .cxa-legend li{margin:0;padding:0}
.cxa .cxa-legend b{color:var(--ink);font-weight:600;font-variant-numeric:tabular-nums}
.cxa .cxa-columns{display:grid;grid-template-columns:minmax(0,5fr) minmax(0,7fr);gap:1.5rem}
.cxa .cxa-scroll{max-height:44rem;overflow:auto;padding:2px .5rem 2px 2px;background:
 linear-gradient(var(--paper) 30%,transparent) local,linear-gradient(transparent,var(--paper) 70%) 0 100% local,
 linear-gradient(var(--line),transparent) scroll,linear-gradient(transparent,var(--line)) 0 100% scroll;
 background-size:100% 40px,100% 40px,100% 14px,100% 14px;background-repeat:no-repeat}
.cxa .cxa-card{margin:0 0 .75rem;padding:.75rem .9rem;border:1px solid var(--line);border-radius:8px;
 border-left:5px var(--border,solid) var(--doc,var(--line))}
.cxa .cxa-line{display:flex;flex-wrap:wrap;align-items:baseline;gap:.3rem .6rem}
.cxa .cxa-text{margin:.5rem 0 0;white-space:pre-wrap;overflow-wrap:anywhere;font-size:15px;line-height:1.55;
 text-align:start;unicode-bidi:plaintext}
.cxa .cxa-fragment .cxa-text{font-size:13.5px}
.cxa .cxa-mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.87em;
 tab-size:4}
.cxa .cxa-chip:has(+ .cxa-mono){display:table;margin-bottom:.2em}
.cxa .cxa-hit{background:var(--tint);box-decoration-break:clone;-webkit-box-decoration-break:clone;border-radius:3px;
 padding:1px 0}
.cxa .cxa-ours{color:var(--soft)}
.cxa .cxa-gap{color:var(--soft);font-weight:650}
.cxa .cxa-head{display:block;margin-bottom:.35rem;color:var(--soft);font-size:13px;line-height:1.45}
.cxa .cxa-head b{color:var(--doc,var(--ink));font-weight:600}
.cxa .cxa-tag{display:inline-block;margin-right:.5em;padding:0 .4em;border:1px solid var(--line);border-radius:4px;
 color:var(--soft);font-size:11px;font-weight:500;line-height:1.5;
 text-decoration:none;user-select:none}
.cxa .cxa-chip{margin:0 .15em 0 0;padding:0 .35em;border:1px var(--border,solid) var(--doc,var(--line));
 border-radius:9px;color:var(--doc,var(--soft));background:var(--paper);font-size:11px;font-weight:600;white-space:nowrap;
 user-select:none}
.cxa .cxa-badge{display:inline-block;max-width:100%;margin-right:.3em;padding:0 .5em;border-radius:9px;
 font-size:11.5px;line-height:1.6}
.cxa .cxa-method{color:var(--method);background:var(--method-tint)}
.cxa .cxa-keywords{color:var(--keywords);background:var(--keywords-tint)}
.cxa .cxa-expansion{color:var(--expansion);background:var(--expansion-tint)}
.cxa .cxa-fragment{scroll-margin:.5rem}
.cxa .cxa-fragment:target{border-color:var(--link)}
.cxa .cxa-hit:target,.cxa .cxa-near:target{scroll-margin:4rem;outline:none;box-shadow:inset 0 -2px 0 var(--link)}
.cxa .cxa-fragment:focus{outline:none}
.cxa .cxa-evidence{color:var(--ink);background:var(--found);text-decoration:underline solid
 2px var(--found-ink);scroll-margin:4rem}
.cxa .cxa-losses .cxa-wide{max-height:22rem;overflow:auto}
.cxa .cxa-losses td:not(.cxa-number){min-width:6rem}
.cxa .cxa-losses td:nth-last-child(-n+2){min-width:12rem}
.cxa .cxa-asked{margin:.35rem 0;padding:0;list-style:none}
.cxa .cxa-asked li{margin:.2rem 0;padding:.15rem 0 .15rem .6rem;border-left:3px solid var(--line)}
.cxa .cxa-asked .cxa-read,.cxa .cxa-asked .cxa-read-in-part{color:var(--found-ink);font-weight:650}
.cxa .cxa-asked .cxa-lost,.cxa .cxa-asked .cxa-not-retrieved{color:var(--keywords);font-weight:650}
.cxa details{margin:.35rem 0}
.cxa summary{cursor:pointer;color:var(--ink)}
.cxa .cxa-card summary{color:var(--doc,var(--ink));font-weight:600}
.cxa .cxa-wide{overflow-x:auto}
.cxa .cxa-table{width:100%;margin:.5rem 0;border-collapse:collapse;border:0;font-size:13px;
 font-variant-numeric:tabular-nums;color:var(--ink);table-layout:auto}
.cxa .cxa-table caption{caption-side:top;padding:0 0 .35rem;text-align:left;color:var(--soft)}
.cxa .cxa-table th,.cxa .cxa-table td{padding:.3rem .9rem .3rem 0;border:0;border-bottom:1px solid var(--line);
 text-align:left;vertical-align:top;font-weight:400;line-height:1.5;max-width:22rem;white-space:normal;overflow-wrap:anywhere}
.cxa .cxa-table thead th{color:var(--soft);font-size:12px;white-space:nowrap}
.cxa .cxa-table .cxa-number{text-align:right;white-space:nowrap;overflow-wrap:normal}
.cxa .cxa-table tbody tr:nth-child(n){background:none}
.cxa .cxa-table tbody tr:target{background:var(--mark)}
.cxa .cxa-table .cxa-id{min-width:7rem}
.cxa .cxa-meter{display:block;height:8px;margin-top:.4em;min-width:2px;border-radius:4px;background:var(--link)}
.cxa .cxa-legend mark,.cxa .cxa-legend .cxa-hit{padding:1px .3em;color:var(--ink)}
.cxa .cxa-chunks{margin:.5rem 0 .75rem;padding:0;list-style:none;font-size:13px}
.cxa .cxa-chunks .cxa-chip{margin-right:.5em}
.cxa .cxa-chunks li{margin:0;padding:.4rem 0;border-top:1px solid var(--line)}
.cxa .cxa-number .cxa-meter{margin-left:auto}
.cxa .cxa-table .cxa-key{margin-right:.25em}
.cxa .cxa-whole{white-space:nowrap}
.cxa .cxa-why{min-width:12rem}
.cxa .cxa-notes{margin:.5rem 0;padding-left:1.2rem}
.cxa-page{margin:0;background:var(--paper)}
@media (max-width:48rem){.cxa{padding:1rem .9rem;border-radius:0}}
@container (max-width:46rem){
.cxa .cxa-columns{grid-template-columns:minmax(0,1fr)}
.cxa .cxa-scroll{padding:0}.cxa .cxa-before .cxa-scroll{max-height:min(44rem,85vh)}
.cxa .cxa-reading .cxa-scroll{max-height:none;overflow:visible;background:none}}
@media print{.cxa .cxa-scroll{max-height:none;overflow:visible}}
"""

_LIGHT, _DARK = _css_variables(LIGHT) + "color-scheme:light", _css_variables(DARK) + "color-scheme:dark"
STYLE = (
    f".cxa,.cxa-page{{{_LIGHT}}}"
    f"@media (prefers-color-scheme:dark){{.cxa,.cxa-page{{{_DARK}}}}}"
    # A notebook has its own theme, whatever the system's is. In turn: JupyterLab, VS Code, Colab, Sphinx.
    f":is([data-jp-theme-light=true],.vscode-light,[theme=light],[data-theme=light]) .cxa{{{_LIGHT}}}"
    f":is([data-jp-theme-light=false],.vscode-dark,[theme=dark],[data-theme=dark]) .cxa{{{_DARK}}}"
    # It also has rules for all of its output: a class named twice outweighs them.
    + f"{_DOCUMENTS}{_RULES}".replace(".cxa ", ".cxa.cxa ")
)
"""The style sheet of a view."""
