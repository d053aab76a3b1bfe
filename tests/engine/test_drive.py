from __future__ import annotations

import asyncio
import threading

import pytest

from builders import hits_of, standing, words_of
from ctxassembly import AssemblyConfig, MemoryStore, aassemble, assemble
from ctxassembly.errors import InputError

A = [words_of("A", n) for n in range(9)]
HITS = hits_of([A[5], A[2]])


class SyncOnly:
    def __init__(self) -> None:
        self.inner = MemoryStore(A)
        self.threads: list[threading.Thread] = []

    def fetch(self, refs):
        self.threads.append(threading.current_thread())
        return self.inner.fetch(refs)


class AsyncOnly:
    def __init__(self) -> None:
        self.inner = MemoryStore(A)

    async def afetch(self, refs):
        await asyncio.sleep(0)
        return self.inner.fetch(refs)


async def test_sync_and_async_stores_give_the_same():
    context = assemble(HITS, store=MemoryStore(A))
    assert standing(context) == ["A1", "A2", "A3", "A4", "A5", "A6"]
    for store in (MemoryStore(A), AsyncOnly(), SyncOnly()):
        assert await aassemble(HITS, store=store) == context


async def test_a_sync_store_runs_in_a_thread():
    store = SyncOnly()
    await aassemble(HITS, store=store)
    assert store.threads
    assert threading.main_thread() not in store.threads


async def test_a_sync_store_does_not_stall_the_loop():
    """The store waits for something that only the running loop can do."""
    turned = threading.Event()

    class Slow(SyncOnly):
        def fetch(self, refs):
            assert turned.wait(60), "the loop stood still"
            return super().fetch(refs)

    async def turn() -> None:
        await asyncio.sleep(0)
        turned.set()

    context, _ = await asyncio.gather(aassemble(HITS, AssemblyConfig(on_store_error="raise"), store=Slow()), turn())
    assert "A4" in standing(context)


async def test_a_store_with_both_is_awaited():
    class Both(AsyncOnly):
        def fetch(self, refs):
            raise AssertionError("called synchronously")

    assert len(standing(await aassemble(HITS, AssemblyConfig(on_store_error="raise"), store=Both()))) == 6


def test_an_async_store_needs_aassemble():
    with pytest.raises(InputError, match=r"^AsyncOnly has no fetch\(refs\); a store with afetch alone needs aassemble"):
        assemble(HITS, store=AsyncOnly())  # type: ignore[arg-type]


async def test_a_store_that_can_do_neither_is_an_error():
    with pytest.raises(InputError, match=r"^object has no fetch"):
        assemble(HITS, store=object())  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^object has neither fetch\(refs\) nor afetch\(refs\)"):
        await aassemble(HITS, store=object())  # type: ignore[arg-type]


async def test_a_cancelled_fetch_cancels_the_assembly():
    class Never(AsyncOnly):
        async def afetch(self, refs):
            await asyncio.sleep(60)

    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(aassemble(HITS, store=Never()), 0.05)


async def test_no_store_asks_nothing():
    assert await aassemble(HITS) == assemble(HITS)
    assert standing(assemble(HITS)) == ["A2", "A5"]


async def test_many_assemblies_at_once_do_not_mix():
    contexts = await asyncio.gather(*(aassemble(hits_of([A[n % 9]]), store=AsyncOnly()) for n in range(30)))
    assert contexts == [assemble(hits_of([A[n % 9]]), store=MemoryStore(A)) for n in range(30)]


def test_the_query_is_kept():
    assert assemble(HITS, query="wanneer?").query == "wanneer?"
