"""What reads the replies to each prompt of the product."""

from collections.abc import Callable
from functools import partial
from typing import Any

from evidencerails.checks.agreement import parse_agreement
from evidencerails.checks.claims.extraction import parse_drawn
from evidencerails.checks.claims.llm import parse_verdicts
from evidencerails.checks.logic.reasoning import parse_audit
from evidencerails.llm.parsing import parse_items
from evidencerails.measures import judge, qa
from evidencerails.mitigation import rewriting
from evidencerails.mitigation.chain_of_verification import VerificationAnswer, VerificationQuestion
from evidencerails.mitigation.grounded_generation import ClaimOutput

PARSERS: dict[str, Callable[[str], Any]] = {
    "classify_claims_batch": parse_verdicts,
    "classify_claim": parse_verdicts,
    "extract_claims": parse_drawn,
    "judge_claims": judge.QUESTION.parse,
    "qa_claims": qa.QUESTION.parse,
    "self_check_hallucination": parse_agreement,
    "verification_questions": partial(parse_items, key="questions", model=VerificationQuestion),
    "verification_answers": partial(parse_items, key="answers", model=VerificationAnswer),
    "grounded_generation": partial(parse_items, key="claims", model=ClaimOutput),
    "rewrite_sentences": partial(rewriting.parse_rewrites, count=20),
    "audit_reasoning": partial(parse_audit, wanted=range(1, 50)),
}
