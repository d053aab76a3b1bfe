"""`python -m demo "a question"`: exit code 0, or 1 with one line that says what is wrong."""

from __future__ import annotations

import argparse
import signal
import sys

DEFAULT_QUESTION = "How does a with statement call __exit__?"


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="demo", description="Ask the Python language reference.")
    parser.add_argument("question", nargs="?", default="")
    parser.add_argument("-v", "--verbose", action="store_true", help="show each step, and the whole context")
    arguments = parser.parse_args()
    question: str = arguments.question.strip() or DEFAULT_QUESTION
    # A terminated demo stops its server as an interrupted one does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        print("Loading LangChain, LlamaIndex and the sentence encoder ...", flush=True)
        # Imported here, since it takes seconds, during which Ctrl-C may come, too.
        from ctxassembly.errors import CtxAssemblyError
        from demo.run import run
        from demo.store import DatabaseError

        try:
            return 0 if run(question, verbose=arguments.verbose) else 1
        except (DatabaseError, CtxAssemblyError) as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
