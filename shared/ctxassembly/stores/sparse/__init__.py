"""An index on an engine that searches sparse vectors: what `QdrantIndex` is made of.

The words of a chunk are a vector of the hash of each and its saturated count, a query is one of hashes and weights, and
their inner product is the keyword score. The idf is on the query's side, so the number of shards doesn't matter.
"""
