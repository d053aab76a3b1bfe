"""A real Chromium without a window: pages go in, what a script measured on them comes out."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"
CONTRAST = """
const channels = text => (text.match(/[\\d.]+/g) || []).map(Number);
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * x + .7152 * y + .0722 * z;
};
const behind = element => {
  for (let each = element; each; each = each.parentElement) {
    const found = channels(getComputedStyle(each).backgroundColor);
    if (found.length === 3 || found[3] === 1) return found;
  }
  return [255, 255, 255];
};
const view = host.querySelector(".cxa"), walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT), poor = [];
let texts = 0;
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
  texts += 1;
  const [a, b] = [channels(getComputedStyle(element).color), behind(element)].map(luminance);
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) poor.push([ratio, element.className, walker.currentNode.data.slice(0, 40)]);
}
return [texts, poor, luminance(behind(view))];
"""
"""The body of a script that reads `host`: its texts, those with less contrast than AA asks for, and its luminance."""
# As JupyterLab shows an output that it trusts: as markup, in which each script is then made anew, so that it runs.
_EMBED = """
function embed(host, source) {
  host.innerHTML = source;
  for (const script of [...host.querySelectorAll("script")]) {
    const again = document.createElement("script");
    again.textContent = script.textContent;
    script.replaceWith(again);
  }
}
"""


def measured(script: str, *pieces: str, whole: bool = False, flags: tuple[str, ...] = (), width: int = 1200) -> Any:
    """What `script` returns on a page with each of `pieces` in it, as a notebook shows them, called `hosts`.

    The script is the body of an async function. What anything ran calls `ran(name)` for stands in `names`. With `whole`
    each piece is a page of its own in a frame of `width` pixels, and `hosts` are the documents of those.
    """
    inside = "".join(
        f'<iframe width="{width}" height="2000" style="border:0" srcdoc="{html.escape(piece)}"></iframe>'
        if whole
        else '<div class="host"></div>'
        for piece in pieces
    )
    hosts = (
        "[...document.querySelectorAll('iframe')].map(frame => frame.contentDocument)"
        if whole
        else ("[...document.querySelectorAll('.host')]")
    )
    page = f"""<!doctype html><meta charset="utf-8"><title>measuring</title>
    <script>const names = []; function ran(name) {{ names.push(name); }} {_EMBED}</script>
    <body><p>A page.</p>{inside}<pre id="measured"></pre><script>
    window.addEventListener("load", async () => {{
      const wait = () => new Promise(done => setTimeout(done, 300));
      const hosts = {hosts};
      const pieces = JSON.parse({_quoted(list(pieces))});
      {"" if whole else "hosts.forEach((host, place) => embed(host, pieces[place]));"}
      await wait();
      const found = await (async () => {{ {script} }})();
      document.getElementById("measured").textContent = JSON.stringify(found);
    }});
    </script>"""
    return json.loads(_shown(page, flags))


def _quoted(value: object) -> str:
    """`value` as a script's text that holds its JSON: nothing in it can end the script."""
    return json.dumps(json.dumps(value)).replace("<", "\\u003c")


def _shown(page: str, flags: tuple[str, ...]) -> str:
    program = next((found for found in map(shutil.which, NAMES) if found), None)
    assert program, f"none of {', '.join(NAMES)} is installed"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        file = Path(folder, "page.html")
        file.write_text(page, "utf-8")
        options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", *flags)
        command = [program, *options, "--virtual-time-budget=5000", "--dump-dom", file.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    found = re.search(r'<pre id="measured">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, f"nothing was measured: {done.stderr[-2_000:]}"
    return html.unescape(found[1])
