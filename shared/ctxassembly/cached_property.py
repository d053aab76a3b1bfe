"""A property that is computed on first use and then kept in its object, without a lock.

In Python 3.10 and 3.11 `functools.cached_property` holds one lock for all objects of a class while it computes. There a
slow tokenizer of one caller would hold up the assemblies of all other threads, and a process that is forked meanwhile
would wait for ever. Python 3.12 dropped the lock: at worst two threads compute the same value.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - named as the one that it replaces
        """`functools.cached_property` of Python 3.12."""

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
