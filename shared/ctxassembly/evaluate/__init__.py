"""Evaluation of whole configurations over a set of questions with marked evidence.

Experimental: the measures, and the layout of tables and pages, may still change. Each public name is imported on first
use. Nothing is sent anywhere but to the systems and models that you pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import lazy_names

if TYPE_CHECKING:
    from ctxassembly.evaluate.diagnosis import Diagnosis, DiagnosisReport, Remedy, diagnose
    from ctxassembly.evaluate.language_models import questions_from
    from ctxassembly.evaluate.losses import Layer
    from ctxassembly.evaluate.questions import Evidence, LabeledQuestion, read_questions
    from ctxassembly.evaluate.report import EvaluationReport, EvaluationRow
    from ctxassembly.evaluate.run import aevaluate, evaluate
    from ctxassembly.evaluate.systems import Piece, SystemResult, assembled
    from ctxassembly.evaluate.tuning import Gain, TuneResult, tune

    __all__ = [
        "Diagnosis",
        "DiagnosisReport",
        "EvaluationReport",
        "EvaluationRow",
        "Evidence",
        "Gain",
        "LabeledQuestion",
        "Layer",
        "Piece",
        "Remedy",
        "SystemResult",
        "TuneResult",
        "aevaluate",
        "assembled",
        "diagnose",
        "evaluate",
        "questions_from",
        "read_questions",
        "tune",
    ]
else:
    _HOMES = {
        "ctxassembly.evaluate.diagnosis": "Diagnosis DiagnosisReport Remedy diagnose",
        "ctxassembly.evaluate.language_models": "questions_from",
        "ctxassembly.evaluate.losses": "Layer",
        "ctxassembly.evaluate.questions": "Evidence LabeledQuestion read_questions",
        "ctxassembly.evaluate.report": "EvaluationReport EvaluationRow",
        "ctxassembly.evaluate.run": "aevaluate evaluate",
        "ctxassembly.evaluate.systems": "Piece SystemResult assembled",
        "ctxassembly.evaluate.tuning": "Gain TuneResult tune",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
