"""How much of the evidence reaches the reader: strategies and peers side by side on question sets with marked evidence.

`python -m quality FOLDER... --out results/`, from `tests/bench`; `make bench` does it in an environment of its own.
"""
