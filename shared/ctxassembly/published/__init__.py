"""Five published systems, each a class whose `flow` reads like its description, and the parts for one of your own.

`config=` of `assemble`, `ContextAssembler` and `ContextAssemblyPostprocessor` takes any of them, and any object with
`flow(call)`. The fifth system retrieves: `RetrievalConfig.published()` and `AnswerConfig.published()`.
"""

from __future__ import annotations

from ctxassembly.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
