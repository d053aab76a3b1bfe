"""What the site has besides its pages: the version in the footer, and all pages as text for language models.

`llms.txt` lists the pages (https://llmstxt.org), `llms-full.txt` has them one after the other.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

_pages: list[Any] = []
"""All pages, in the order of the navigation."""


def on_config(config: Any) -> Any:
    """Name the version in the footer."""
    config.copyright = f"ctxassembly {version('ctxassembly')}, MIT license"
    return config


def on_nav(nav: Any, **_: Any) -> Any:
    """Keep the pages, whose text is read when all is built."""
    _pages[:] = nav.pages
    return nav


def on_post_build(config: Any) -> None:
    """Write `llms.txt` and `llms-full.txt`."""
    folder, root = Path(config.site_dir), config.site_url
    listed = [f"- [{page.title}]({root}{page.url})" for page in _pages]
    head = f"# {config.site_name}\n\n> {config.site_description}\n\n"
    (folder / "llms.txt").write_text(head + "## Docs\n\n" + "\n".join(listed) + "\n", "utf-8")
    (folder / "llms-full.txt").write_text(head + "\n\n".join(page.markdown for page in _pages) + "\n", "utf-8")
