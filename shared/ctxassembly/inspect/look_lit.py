"""The style of what belongs together: one part is pointed at or has the focus, and all parts of its hit light up.

A label or a mark that is pointed at shows its fragments alone in the column beside it, and the one that a mark was
clicked for stays alone until another link is. The height of that column doesn't depend on what is in it, so that
nothing moves below the pointer; and no rule hides anything for a focus that a pointer gives, since the rest would come
back between press and release. Where the columns stand one below the other, a click leads to the fragment among all.
"""

from __future__ import annotations

from ctxassembly.tracing.decisions import FRAGMENTS

_LIT = ".cxa:has(.cxa-k{0}:is(:hover,:focus,:focus-within)) .cxa-k{0}"
_LEADS = ":is(.cxa-leads:hover,.cxa-leads:focus-visible,.cxa-fragment:target)"
_EACH = "".join(f"{_LIT}{{{{--lit:var(--link)}}}}".format(rank) for rank in range(FRAGMENTS))
_ALONE = "".join(
    f".cxa:has(.cxa-k{rank}{_LEADS}) .cxa-fragment.cxa-k{rank}{{display:block}}" for rank in range(FRAGMENTS)
)
LIT = (
    ".cxa.cxa .cxa-lit{box-shadow:0 0 0 2px var(--lit,transparent)}"
    ".cxa.cxa .cxa-hit.cxa-lit,.cxa.cxa .cxa-near.cxa-lit{scroll-margin:4rem;outline:none;border-radius:0;"
    "box-shadow:inset 0 -2px 0 var(--lit,transparent)}"
    ".cxa.cxa .cxa-fragment{scroll-margin:.5rem}"
    ".cxa.cxa .cxa-fragment:focus{outline:none}"
    ".cxa.cxa .cxa-fragment:target{border-color:var(--link)}"
    ".cxa.cxa .cxa-all{display:none;margin:0 0 .4rem}"
    f"{_EACH}"
    f"@container (min-width:46rem){{.cxa:has(.cxa-lit{_LEADS}) .cxa-fragment{{display:none}}{_ALONE}"
    ".cxa.cxa:has(.cxa-fragment:target) .cxa-all{display:block}"
    ".cxa.cxa .cxa-before{display:flex;flex-direction:column}"
    ".cxa.cxa .cxa-before:has(.cxa-fragment){min-height:20rem}"
    ".cxa.cxa .cxa-before .cxa-scroll{flex:1 1 0;min-height:0;max-height:none}}"
)
"""Rules inside the view only, to be put after all others."""
