from ctxassembly.citations.reader import AnswerReader as AnswerReader
from ctxassembly.citations.reader import Resolved as Resolved
from ctxassembly.citations.references import Reference as Reference
from ctxassembly.citations.support import Quote as Quote
from ctxassembly.citations.support import Support as Support
