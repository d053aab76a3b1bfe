"""What an assembly costs beside the straightforward one and beside peers: time, instructions and memory.

`python -m speed` and `python -m speed.instructions`, from `tests/bench`; `make bench-speed` and
`make bench-instructions` do it in an environment of its own.
"""
