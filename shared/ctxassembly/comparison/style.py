"""The look of a comparison: rules beside those of every view, in the same colors.

What stands in some contexts alone has a line at its side and a dotted one below, not only a color. The slider is a
group of radio buttons on a line, so arrow keys move it; `:has` shows the pane of the one that is chosen, and without
`:has` all panes are shown.
"""

from __future__ import annotations

from ctxassembly.views.html import Html, join_html
from ctxassembly.views.page import style_tag

_RULES = """
.cxa .cxa-both{width:100%;min-width:calc(var(--contexts)*15rem);margin:0;
 border-collapse:separate;border-spacing:0;table-layout:fixed;border:0;font-size:14px;
 color:var(--ink)}
.cxa .cxa-both caption{caption-side:top;padding:0 0 .35rem;text-align:left;color:var(--soft);font-size:13px}
.cxa .cxa-both tr,.cxa .cxa-both tr:nth-child(n){background:none}
.cxa .cxa-both th,.cxa .cxa-both td{padding:.3rem .7rem;border:0;text-align:start;vertical-align:top;
 font-weight:400;line-height:1.55;white-space:normal;overflow-wrap:anywhere;max-width:none}
.cxa .cxa-both thead th{position:sticky;top:0;z-index:1;background:var(--paper);border-bottom:1px solid var(--line);
 font-weight:650;font-size:13px;text-align:left}
.cxa .cxa-both .cxa-doc{padding-top:1rem;font-size:13px;color:var(--soft);text-align:left}
.cxa .cxa-both .cxa-doc b{color:var(--doc,var(--ink));font-weight:600}
.cxa .cxa-both .cxa-says{white-space:pre-wrap;unicode-bidi:plaintext}
.cxa .cxa-both .cxa-same{color:var(--soft)}
.cxa .cxa-both .cxa-only .cxa-says{margin-left:-.7rem;padding:.15rem .5rem .15rem calc(.7rem - 4px);
 background:var(--raised);border-left:4px solid var(--link)}
.cxa .cxa-both .cxa-none{color:var(--soft);font-style:italic;font-size:13px}
.cxa .cxa-both .cxa-partly{color:var(--soft)}
.cxa .cxa-both span.cxa-only{color:var(--ink);background:var(--raised);text-decoration:underline 2px var(--link);
 text-underline-offset:4px;box-decoration-break:clone;-webkit-box-decoration-break:clone}
.cxa .cxa-who{display:none;margin-right:.5em;color:var(--ink);font-size:12px;font-weight:650;font-style:normal}
.cxa .cxa-legend .cxa-only{padding:.15rem .5rem;color:var(--ink);background:var(--raised);
 border-left:4px solid var(--link)}
.cxa .cxa-new{padding:0 .15em;color:var(--ink);background:var(--mark);
 box-decoration-break:clone;-webkit-box-decoration-break:clone;
 text-decoration:underline dotted 1px var(--soft);text-underline-offset:3px}
.cxa .cxa-slider{margin:1.25rem 0 .5rem;padding:0;border:0;min-width:0}
.cxa .cxa-slider legend{padding:0;margin:0 0 .5rem;color:var(--ink);font-size:13px;font-weight:650}
.cxa .cxa-track{display:flex;overflow-x:auto;padding:3px 0 .25rem}
.cxa .cxa-track label{position:relative;flex:1 0 3.5rem;display:flex;flex-direction:column;align-items:center;
 gap:.3rem;margin:0;padding:0 .25rem;color:var(--soft);font-size:13px;font-weight:400;line-height:1.3;text-align:center;
 font-variant-numeric:tabular-nums;cursor:pointer}
.cxa .cxa-track label::before{content:"";position:absolute;top:8px;right:50%;width:100%;height:4px;
 background:var(--line)}
.cxa .cxa-track label:first-child::before{display:none}
.cxa .cxa-track label:has(:checked)::before,.cxa .cxa-track label:has(~ label :checked)::before{background:var(--link)}
.cxa .cxa-track label:has(:checked){color:var(--ink);font-weight:650}
.cxa .cxa-track input{appearance:none;-webkit-appearance:none;position:relative;flex:none;width:20px;height:20px;
 margin:0;padding:0;border:2px solid var(--soft);border-radius:50%;background:var(--paper);cursor:pointer;z-index:1}
.cxa .cxa-track input:checked{border-color:var(--link);background:var(--link);box-shadow:inset 0 0 0 3px var(--paper)}
.cxa .cxa-track label:has(~ label :checked) input{border-color:var(--link);background:var(--link)}
.cxa .cxa-track input:focus-visible{border-radius:50%}
.cxa .cxa-pane>.cxa-meter{margin:.25rem 0 .75rem}
.cxa .cxa-pane>.cxa-card{margin-top:.75rem}
.cxa .cxa-lost{margin:.35rem 0 .75rem;padding:0 0 0 1.2rem;color:var(--soft);font-size:13.5px}
@container (max-width:46rem){
.cxa .cxa-both,.cxa .cxa-both tbody,.cxa .cxa-both tr,.cxa .cxa-both th,.cxa .cxa-both td{display:block;width:auto;
 min-width:0}
.cxa .cxa-both col,.cxa .cxa-both colgroup{display:none}
.cxa .cxa-both caption{display:block}
.cxa .cxa-both thead{display:none}
.cxa .cxa-both .cxa-who{display:inline}
.cxa .cxa-both tr{padding:.1rem 0}
.cxa .cxa-both .cxa-same ~ .cxa-same{display:none}
.cxa .cxa-scroll:has(.cxa-both){max-height:none}}
@supports selector(:has(*)){.cxa .cxa-pane{display:none}}
"""


def style_tags(stops: int = 0) -> Html:
    """The style sheets of a comparison, with a rule for each stop of a slider."""
    pane_rules = "".join(
        f".cxa:has(.cxa-stop{stop}:checked) .cxa-pane{stop}{{display:block}}" for stop in range(1, stops + 1)
    )
    return join_html(style_tag(), Html(f"<style>{(_RULES + pane_rules).replace('.cxa ', '.cxa.cxa ')}</style>"))
