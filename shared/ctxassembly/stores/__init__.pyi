from ctxassembly.data.filters import Comparison as Comparison
from ctxassembly.data.filters import FilterGroup as FilterGroup
from ctxassembly.data.filters import parse_filter as parse_filter
from ctxassembly.stores.filtered import chunk_predicate as chunk_predicate
from ctxassembly.stores.simple_words import NearWords as NearWords
from ctxassembly.stores.simple_words import lexemes as lexemes
from ctxassembly.stores.simple_words import term_counts as term_counts
