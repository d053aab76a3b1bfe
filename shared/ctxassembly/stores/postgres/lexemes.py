"""The table of lexemes beside one of chunks: every word that a chunk has or had, the shares of the common ones.

Whoever may read the chunks may read it, since a query looks up its words there. Where policies part the rows of one
tenant from those of another, nobody but the owner may: the words are those of all. Then a query counts its words under
the policies, and finds no near ones. A policy of the table of lexemes hides its rows as soon as row-level security is
switched on, also after it was made.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxassembly.stores.postgres.catalog import Described
from ctxassembly.stores.postgres.schema import Step, full_name, quoted_name, text_literal
from ctxassembly.stores.postgres.table import TSV, IndexedTable, shortened

LONGEST_KEPT = 100
"""Characters of a lexeme in the table; longer ones are no words."""


def lexemes_missing(home: IndexedTable, found: Described) -> Iterator[Step]:
    """What the table of lexemes still needs. One that is older than the column of words has those of another."""
    if not found.has_lexemes:
        yield from lexemes_made(home)
    elif TSV not in found.types:
        yield from lexemes_refreshed(home)
    if home.has_trigrams and not found.has_near:
        yield near_indexed(home)
    if not found.is_owned:
        return
    if found.has_lexemes and not found.hides_lexemes:
        yield _hidden(home)
    word, way, roles = ("REVOKE", "FROM", found.read_by) if found.has_policies else ("GRANT", "TO", found.unread_by)
    for role in roles:
        yield Step(f"{word} SELECT ON {lexemes_name(home)} {way} {role}")


def lexemes_name(home: IndexedTable) -> str:
    """The table of lexemes, quoted."""
    return f"{quoted_name(home.schema)}.{quoted_name(home.lexemes)}"


def lexemes_made(home: IndexedTable) -> Iterator[Step]:
    """The table of lexemes, and what is in it."""
    table = f"CREATE TABLE IF NOT EXISTS {lexemes_name(home)} (word text PRIMARY KEY, share real)"
    yield Step(f"{table};\n{_hidden(home).sql}")
    yield from lexemes_refreshed(home)


def _hidden(home: IndexedTable) -> Step:
    """Show the words to nobody who doesn't see all chunks, from the moment on that a policy hides some."""
    # The table by its name: as `regclass` nobody could drop it anymore.
    active = f"row_security_active({text_literal(full_name(home))})"
    return Step(
        f"ALTER TABLE {lexemes_name(home)} ENABLE ROW LEVEL SECURITY;\n"
        f"DROP POLICY IF EXISTS ctxassembly_all_rows ON {lexemes_name(home)};\n"
        f"CREATE POLICY ctxassembly_all_rows ON {lexemes_name(home)} FOR SELECT USING (NOT {active})"
    )


def near_indexed(home: IndexedTable) -> Step:
    """The index by which lexemes near to a word are found."""
    name = quoted_name(shortened(home.name, "lexemes_trgm"))
    return Step(f"CREATE INDEX IF NOT EXISTS {name} ON {lexemes_name(home)} USING gin (word gin_trgm_ops)")


def lexemes_refreshed(home: IndexedTable) -> Iterator[Step]:
    """The words of all chunks, in the place of those of before, after an ANALYZE."""
    every = text_literal(f"SELECT {TSV} FROM {full_name(home)}")
    table = lexemes_name(home)
    yield Step(
        f"WITH fresh AS MATERIALIZED (SELECT word FROM ts_stat({every}) WHERE length(word) <= {LONGEST_KEPT}),\n"
        f"  gone AS (DELETE FROM {table} WHERE word NOT IN (SELECT word FROM fresh))\n"
        f"INSERT INTO {table} SELECT word FROM fresh ON CONFLICT DO NOTHING"
    )
    yield shares_known(home)
    yield Step(f"ANALYZE {table}")


def shares_known(home: IndexedTable) -> Step:
    """The shares of the chunks that have each of the common words, from the statistics.

    Looked up there, all 10,000 of them would be unpacked for each query, which takes longer than its search.
    """
    table = lexemes_name(home)
    return Step(
        "WITH common AS MATERIALIZED (\n"
        "  SELECT word, max(share) AS share FROM pg_catalog.pg_stats,\n"
        "    unnest(most_common_elems::text::text[], most_common_elem_freqs) AS each(word, share)\n"
        f"  WHERE schemaname = {text_literal(home.schema)} AND tablename = {text_literal(home.name)}\n"
        f"    AND attname = '{TSV}' AND length(word) <= {LONGEST_KEPT} GROUP BY word\n"
        f"), rare AS (\n  UPDATE {table} SET share = NULL\n"
        "  WHERE share IS NOT NULL AND word NOT IN (SELECT word FROM common)\n"
        f")\nINSERT INTO {table} SELECT word, share FROM common\n"
        "ON CONFLICT (word) DO UPDATE SET share = EXCLUDED.share"
    )
