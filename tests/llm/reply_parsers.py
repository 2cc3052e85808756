"""What reads the replies to each prompt of the product."""

from collections.abc import Callable
from functools import partial
from typing import Any

from evidencerails.checks.agreement import parse_agreement
from evidencerails.checks.claims.extraction import _read_drawn
from evidencerails.checks.claims.llm import _read_verdicts
from evidencerails.checks.logic.reasoning import parse_audit
from evidencerails.llm.parsing import parse_items
from evidencerails.measures import judge, qa
from evidencerails.mitigation import rewriting
from evidencerails.mitigation.chain_of_verification import _Answered, _Asked
from evidencerails.mitigation.grounded_generation import ClaimOutput

PARSERS: dict[str, Callable[[str], Any]] = {
    "classify_claims_batch": _read_verdicts,
    "classify_claim": _read_verdicts,
    "extract_claims": _read_drawn,
    "judge_claims": judge._QUESTION.parse,
    "qa_claims": qa._QUESTION.parse,
    "self_check_hallucination": parse_agreement,
    "verification_questions": partial(parse_items, key="questions", model=_Asked),
    "verification_answers": partial(parse_items, key="answers", model=_Answered),
    "grounded_generation": partial(parse_items, key="claims", model=ClaimOutput),
    "rewrite_sentences": partial(rewriting._read, count=20),
    "audit_reasoning": partial(parse_audit, wanted=range(1, 50)),
}
