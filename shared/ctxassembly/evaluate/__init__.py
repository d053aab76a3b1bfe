"""Evaluation of whole configurations over a set of questions with marked evidence.

Experimental: the measures, and the layout of tables and pages, may still change. Each public name is imported on first
use. Nothing is sent anywhere but to the systems and models that you pass.
"""

from __future__ import annotations

from ctxassembly.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
