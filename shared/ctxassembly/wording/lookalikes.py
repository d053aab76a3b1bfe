"""Look-alikes: characters that a reader takes for an ASCII letter, digit, bracket or dash.

Unicode's compatibility forms (fullwidth, mathematical, circled, subscript) and marks on letters come from Python's own
`unicodedata`, and so do digits, dashes and brackets of all kinds. Only letters of other scripts, letters with strokes
and a few signs need a table. It is derived from Unicode's confusables.txt (UTS #39, version 13.0, Unicode License,
https://www.unicode.org/license.txt) and from the names of Latin letters, with a few letters of faux Cyrillic. Packages
with the whole list, such as confusable-homoglyphs 3.3.1 (900 KB of JSON, 0.1 s to load), have far more than our words
need.
"""

from __future__ import annotations

import re
from unicodedata import category, name, normalize, numeric

_LETTERS = {
    "a": (
        "\u023a\u0251\u0391\u03b1\u0410\u0430\u13aa\u15c5\u1d00\u1d8f\u2376\u237a\u2c65\u2c6d\ua4ee\uab7a"
        "\U000102a0\U00016f40\U0001f150\U0001f170\U0001f1e6"
    ),
    "b": (
        "\u0180\u0181\u0182\u0183\u0184\u0185\u0243\u0253\u0299\u0392\u03b2\u0411\u0412\u042c\u0431\u0432"
        "\u044c\u0462\u0463\u048c\u048d\u13cf\u13f4\u13fc\u1472\u1473\u15af\u15f7\u1d6c\u1d80\ua4d0\ua796"
        "\ua797\ua7b4\ua7b5\uab9f\U00010282\U000102a1\U00010301\U0001f151\U0001f171\U0001f1e7"
    ),
    "c": (
        "\u00a2\u0187\u0188\u023b\u023c\u0255\u0421\u0441\u04aa\u04ab\u13df\u1d04\u20a1\u2ca4\u2ca5\ua4da"
        "\ua792\ua793\ua794\ua7c4\uabaf\U000102a2\U00010302\U00010415\U0001043d\U0001051c\U0001df1d\U0001f152"
        "\U0001f16e\U0001f172\U0001f1e8\U0001f74c"
    ),
    "d": (
        "\u00d0\u00f0\u0110\u0111\u0189\u018a\u018b\u018c\u0221\u0256\u0257\u0500\u0501\u13a0\u13e7\u146f"
        "\u15de\u15ea\u1d05\u1d6d\u1d81\u1d91\u20ab\ua4d2\ua4d3\ua779\ua77a\ua7c7\ua7c8\uab70\uabb7\U0001f153"
        "\U0001f173\U0001f1e9"
    ),
    "e": (
        "\u0190\u0246\u0247\u025b\u0395\u03b5\u0415\u0435\u04bc\u04bd\u04be\u04bf\u13ac\u1d07\u1d92\u1d93"
        "\u212e\u22ff\u2c78\u2d39\ua4f0\uab32\uab34\uab7c\U00010286\U000118a6\U000118ae\U000118c6\U000118ce"
        "\U0001f154\U0001f174\U0001f1ea"
    ),
    "f": (
        "\u0191\u0192\u03dc\u03dd\u0554\u0584\u15b4\u1d6e\u1d82\u1e9d\ua4dd\ua730\ua77b\ua77c\ua798\ua799"
        "\uab35\U00010287\U000102a5\U00010525\U000118a2\U000118c2\U0001d213\U0001f155\U0001f175\U0001f1eb"
    ),
    "g": (
        "\u018d\u0193\u01e4\u01e5\u0260\u0261\u0262\u029b\u050c\u050d\u0551\u0581\u13c0\u13f3\u13fb\u1d79"
        "\u1d83\ua4d6\ua77d\ua7a0\ua7a1\ua7ac\uab36\uab90\U0001f156\U0001f176\U0001f1ec"
    ),
    "h": (
        "\u0126\u0127\u0266\u029c\u0397\u040b\u041d\u043d\u045b\u04a2\u04a3\u04ba\u04bb\u04c7\u04c8\u04c9"
        "\u04ca\u0540\u0570\u13bb\u13c2\u13f2\u13fa\u157c\u2c67\u2c68\u2c8e\u2c8f\ua4e7\ua694\ua695\ua795"
        "\ua7aa\uab8b\uab92\U000102cf\U0001f157\U0001f177\U0001f1ed"
    ),
    "i": (
        "\u0131\u0196\u0197\u0268\u0269\u026a\u0399\u03b9\u0406\u0456\u04c0\u04cf\u13a5\u1d7b\u1d7c\u1d96"
        "\u2373\u2378\ua646\ua647\ua7ae\uab75\U000118a3\U000118c3\U0001df1a\U0001f158\U0001f178\U0001f1ee"
    ),
    "j": (
        "\u0237\u0248\u0249\u025f\u0284\u029d\u037f\u03f3\u0408\u0458\u13ab\u148d\u1d0a\ua4d9\ua7b2\uab7b"
        "\U0001f159\U0001f179\U0001f1ef"
    ),
    "k": (
        "\u0198\u0199\u039a\u03ba\u041a\u043a\u049a\u049b\u049e\u049f\u13e6\u16d5\u1d0b\u1d84\u20ad\u2c69"
        "\u2c6a\u2c94\u2c95\ua4d7\ua740\ua741\ua742\ua743\ua744\ua745\ua7a2\ua7a3\uabb6\U00010518\U0001f15a"
        "\U0001f17a\U0001f1f0"
    ),
    "l": (
        "\u0141\u0142\u019a\u01c0\u0234\u023d\u026b\u026c\u026d\u029f\u05c0\u05d5\u05df\u0627\u0673\u07ca"
        "\u13de\u14aa\u16c1\u1d0c\u1d85\u2223\u23fd\u2c60\u2c61\u2c62\u2c92\u2c93\u2cd0\u2cd1\u2d4f\ua4e1"
        "\ua4f2\ua748\ua749\ua78e\ua7ad\uab37\uab38\uab39\uabae\U0001028a\U00010309\U0001041b\U00010443"
        "\U00010526\U000118b2\U000118d2\U00016f16\U00016f28\U0001d22a\U0001df04\U0001df11\U0001df13\U0001f15b"
        "\U0001f17b\U0001f1f1"
    ),
    "m": (
        "\u0271\u039c\u03bc\u03fa\u03fb\u041c\u043c\u04cd\u04ce\u13b7\u15f0\u16d6\u1d0d\u1d6f\u1d86\u2c6e"
        "\u2c98\u2c99\ua4df\uab3a\uab87\U000102b0\U00010311\U0001f15c\U0001f17c\U0001f1f2"
    ),
    "n": (
        "\u019d\u019e\u0220\u0235\u0272\u0273\u0274\u039d\u03a0\u03b7\u03c0\u0418\u041f\u0438\u043f\u0548"
        "\u054c\u0578\u057c\u1d70\u1d87\u2c9a\u2c9b\ua4e0\ua790\ua791\ua7a4\ua7a5\uab3b\U0001018e\U00010513"
        "\U0001f15d\U0001f17d\U0001f1f3"
    ),
    "o": (
        "\u00d8\u00f8\u0186\u019f\u0254\u0275\u0398\u039f\u03a3\u03b8\u03bf\u03c3\u041e\u043e\u0472\u0473"
        "\u04e8\u04e9\u0555\u0585\u05e1\u0647\u06be\u06c1\u06d5\u06ff\u0b20\u0c02\u0c82\u0d02\u0d20\u0d82"
        "\u101d\u10ff\u12d0\u13a4\u13be\u13eb\u1cbf\u1d0f\u1d10\u1d11\u1d97\u2296\u229d\u236c\u2c7a\u2c9e"
        "\u2c9f\u2d31\u2d41\u2d54\u3007\ua4f3\ua74a\ua74b\ua74c\ua74d\uab3d\uab3e\uab3f\uab74\uab8e\uabbb"
        "\U00010292\U000102ab\U00010404\U0001042c\U000104c2\U000104ea\U00010516\U000118a8\U000118b5\U000118b7"
        "\U000118c8\U000118d5\U000118d7\U0001d21a\U0001df1b\U0001f15e\U0001f17e\U0001f1f4\U0001f714"
    ),
    "p": (
        "\u01a4\u01a5\u03a1\u03c1\u0420\u0440\u13e2\u146d\u1d18\u1d71\u1d7d\u1d88\u2374\u2c63\u2ca2\u2ca3"
        "\ua4d1\ua750\ua751\ua752\ua753\ua754\ua755\uabb2\U00010295\U0001f15f\U0001f17f\U0001f1f5"
    ),
    "q": (
        "\u024a\u024b\u02a0\u051a\u051b\u0533\u0536\u0563\u0566\u2d55\ua756\ua757\ua758\ua759\ua7af\U0001f160"
        "\U0001f180\U0001f1f6"
    ),
    "r": (
        "\u01a6\u024c\u024d\u027c\u027d\u027e\u0280\u0413\u042f\u0433\u044f\u0492\u0493\u13a1\u13b1\u13d2"
        "\u1587\u1d26\u1d72\u1d73\u1d89\u2c64\u2c84\u2c85\ua4e3\ua782\ua783\ua7a6\ua7a7\uab46\uab47\uab48"
        "\uab49\uab4b\uab4c\uab71\uab81\uaba2\U000104b4\U000104dc\U00016f35\U0001d216\U0001df16\U0001f161"
        "\U0001f181\U0001f1f7"
    ),
    "s": (
        "\u01bc\u01bd\u023f\u0282\u0405\u0455\u054f\u057f\u13d5\u13da\u1d74\u1d8a\u1e9c\u2c7e\ua4e2\ua731"
        "\ua784\ua785\ua7a8\ua7a9\ua7c5\ua7c9\ua7ca\uaba5\uabaa\U00010296\U00010420\U00010448\U000118a1"
        "\U000118c1\U00016f3a\U0001df1e\U0001f162\U0001f182\U0001f1f8"
    ),
    "t": (
        "\u0166\u0167\u01ab\u01ac\u01ad\u01ae\u0236\u023e\u0288\u03a4\u03c4\u0422\u0442\u04ac\u04ad\u13a2"
        "\u1d1b\u1d75\u20ae\u22a4\u2361\u27d9\u2c66\u2ca6\u2ca7\ua4d4\ua786\ua787\uab72\U00010297\U000102b1"
        "\U00010315\U000118bc\U00016f0a\U0001df09\U0001f163\U0001f183\U0001f1f9\U0001f768"
    ),
    "u": (
        "\u0244\u0289\u028b\u03c5\u054d\u057d\u1200\u13cc\u144c\u1d1c\u1d7e\u1d99\u222a\u22c3\ua4f4\ua79e"
        "\ua79f\ua7b8\ua7b9\uab4e\uab52\uab9c\U000104ce\U000104f6\U000118b8\U000118d8\U00016f42\U0001f164"
        "\U0001f184\U0001f1fa"
    ),
    "v": (
        "\u01b2\u03bd\u0474\u0475\u05d8\u13d9\u142f\u1d20\u2228\u22c1\u2c71\u2c74\u2d38\ua4e6\ua6df\ua75e"
        "\ua75f\uaba9\U00010197\U0001051d\U00011706\U000118a0\U000118c0\U00016f08\U0001d20d\U0001f165"
        "\U0001f185\U0001f1fb\U0001f708"
    ),
    "w": (
        "\u019c\u026f\u0460\u0461\u047c\u047d\u051c\u051d\u0531\u0561\u13b3\u13d4\u1d21\u20a9\u2c72\u2c73"
        "\ua4ea\ua760\ua761\uab83\uaba4\U000114c5\U0001170a\U0001170e\U0001170f\U0001f166\U0001f186\U0001f1fc"
    ),
    "x": (
        "\u00d7\u03a7\u03c7\u0425\u0445\u04b2\u04b3\u1541\u157d\u166d\u166e\u16b7\u1d8d\u2573\u292b\u292c"
        "\u2a2f\u2a30\u2cac\u2cad\u2d5d\ua4eb\ua7b3\uab53\uab56\uab57\uab58\uab59\U00010196\U00010290"
        "\U000102b4\U00010317\U00010527\U0001f167\U0001f187\U0001f1fd"
    ),
    "y": (
        "\u00a5\u0194\u01b3\u01b4\u024e\u024f\u0263\u028f\u0393\u03a5\u03b3\u0423\u0443\u04ae\u04af\u04b0"
        "\u04b1\u10e7\u13a9\u13bd\u1ca7\u1d8c\u1efe\u1eff\u2ca8\u2ca9\ua4ec\uab5a\uab79\uab8d\U000102b2"
        "\U000118a4\U000118dc\U00016f43\U0001f168\U0001f188\U0001f1fe"
    ),
    "z": (
        "\u01b5\u01b6\u0224\u0225\u0240\u0290\u0291\u0396\u03b6\u13c3\u1d22\u1d76\u1d8e\u2c6b\u2c6c\u2c7f"
        "\ua4dc\ua7c6\uab93\U000118a9\U000118c4\U000118c9\U0001f169\U0001f189\U0001f1ff"
    ),
}
"""ASCII letter -> letters that look like it and have no decomposition, as escapes, since some run right to left."""
_SIGNS = {
    "*": "\u066d\u204e\u2217\u2731\u2732\U0001031f",
    ",": "\u060d\u066b\ua4f9",
    "-": (
        "\u02c9\u02d7\u06d4\u2043\u2212\u23af\u23e4\u2500\u2501\u2504\u2505\u2508\u2509\u254c"
        "\u254d\u2574\u2576\u2578\u257a\u257c\u257e\u2796\u2cba\u30fc"
    ),
    ".": "\u0701\u0702\ua4f8\ua60e\U00010a50\U0001d16d",
    ":": ("\u02d0\u02f8\u0589\u05c3\u0703\u0704\u0903\u0a83\u16ec\u1803\u1809\u205a\u2236\ua4fd\ua789"),
    "<": "\u02c2\u1438\u16b2\u2039\u276e\U0001d236",
    "=": "\u2550\u30a0\ua4ff\ua78a",
    ">": "\u02c3\u1433\u203a\u276f\U00016f3f\U0001d237",
    "{": "\U0001d114",
}
"""Sign -> signs of other kinds that look like it, among them what a row of dashes is drawn with."""
_TABLE = {ord(each): sign for sign, others in (_LETTERS | _SIGNS).items() for each in others}
_MAX_CACHED = 20_000


class _Skeletons(dict[int, str]):
    """Code point -> skeleton, filled as characters are met. `str.translate` reads it."""

    def __missing__(self, code: int) -> str:
        found = _character_skeleton(chr(code))
        if len(self) < _MAX_CACHED:
            self[code] = found
        return found


_SKELETONS = _Skeletons({code: chr(code) for code in range(0x80)})


def _character_skeleton(character: str) -> str:
    """Return the ASCII that `character` looks like, nothing for a mark, else the character."""
    kind = category(character)
    if kind in ("Mn", "Me"):
        return ""
    if known := _TABLE.get(ord(character)):
        return known
    plain = normalize("NFKD", character)
    if plain != character:
        return "".join(_SKELETONS[ord(each)] for each in plain)
    if kind == "Pd":
        return "-"
    if kind in ("Nd", "No") and 0 <= (value := numeric(character, -1)) == int(value):
        return str(int(value))
    return _bracket(character) if kind in ("Ps", "Pe") else character


def _bracket(character: str) -> str:
    character_name, at = name(character, ""), category(character) == "Pe"
    if "QUOTATION" in character_name:
        return character
    kinds = (("PARENTHES", "()"), ("CURLY", "{}"), ("ANGLE", "<>"), ("", "[]"))
    return next(pair[at] for kind, pair in kinds if kind in character_name)


def fold_lookalikes(line: str) -> str:
    r"""Return `line` as it looks: ASCII for look-alikes, and no marks.

    >>> fold_lookalikes("[\N{FULLWIDTH DIGIT TWO}] S\N{CYRILLIC SMALL LETTER O}urce")
    '[2] Source'
    """
    return line.translate(_SKELETONS)


def folded_offsets(line: str) -> list[int]:
    """Return for each character of `fold_lookalikes(line)` the offset in `line` of its origin."""
    return [at for at, character in enumerate(line) for _ in _SKELETONS[ord(character)]]


def is_lookalike(character: str) -> bool:
    """Return True if `character` looks like ASCII or is removed."""
    return _SKELETONS[ord(character)].isascii()


ANGLES = re.compile(
    f"[\u2329\u3008\u300a\u27e8\u27ea\u2991\u29fc\ufe3d\ufe3f\ufe64\uff1c\u276c\u276e\u2770{_SIGNS['<']}]"
)
"""The look-alikes of <."""
