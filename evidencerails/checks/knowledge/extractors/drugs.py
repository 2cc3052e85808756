"""Drugs: names with an INN stem, and words that are given as a dose or called a drug.

The stems are those of the World Health Organization's "The use of stems in the selection of International
Nonproprietary Names" (2018 edition) that end a name and no common English word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evidencerails.checks.knowledge.entities import Entity, without_overlaps

_STEMS = (
    "mab|statin|sartan|dipine|olol|azole|cillin|mycin|micin|cycline|floxacin|ciclovir|buvir|previr|tegravir|navir|asvir|"
    "tinib|ciclib|rafenib|parib|zomib|prazole|tidine|setron|triptan|gliptin|gliflozin|glutide|glitazone|gliclazide|"
    "glinide|azepam|azolam|zodone|oxetine|traline|apine|peridone|piprazole|barbital|profen|coxib|fenac|oxicam|parin|"
    "xaban|gatran|grel|lukast|terol|tropium|sonide|olone|metasone|dronate|thiazide|semide|lactone|curium|curonium|"
    "caine|flurane|fentanil|vaptan|gepant|orexant|bactam|penem|oxacin|cef\\w{3,9}|sulfa\\w{4,12}|\\w{3,10}afil|"
    "\\w{3,10}pril|\\w{3,10}prilat|\\w{3,12}formin|\\w{4,12}rubicin|\\w{3,12}taxel|\\w{3,12}platin|\\w{3,12}bicin"
)
_BY_STEM = re.compile(rf"\b(?:cef[a-z]{{3,9}}|sulfa[a-z]{{4,12}}|[A-Za-z][a-z]{{1,18}}(?:{_STEMS}))\b", re.IGNORECASE)
_UNIT = r"(?:mg|mcg|µg|μg|milligrams?|micrograms?)(?:/(?:kg|day|ml|mL|d))?"
_AMOUNT = rf"\d+(?:[.,]\d+)?(?:[-–]\d+)? ?{_UNIT}"
_BEFORE_DOSE = re.compile(rf"\b(?P<name>[A-Za-z][a-z]{{4,24}}(?:[ -][a-z]{{5,20}})?),?(?: \(?at| in)? \(?{_AMOUNT}\b")
_AFTER_DOSE = re.compile(rf"\b{_AMOUNT} (?:of )?(?:oral |intravenous |IV )?(?P<name>[A-Za-z][a-z]{{4,24}})\b")
_BY_CALL = re.compile(
    r"\b(?:drug|medication|medicine|antibiotic|antidepressant|antiviral|anticoagulant|opioid|vaccine|statin)s?"
    r"(?:,? (?:called|named|known as|such as))? (?P<name>[A-Z][a-z]{4,24})\b"
)
_NO_DRUG = frozenset(
    """profen dose doses dosage daily tablet tablets capsule capsules about approximately above below under over least
    most than maximum minimum total contains containing contain taking take takes given receive received with every
    after before between during adults children patients patient sodium calcium potassium magnesium iron protein sugar
    caffeine water alcohol vitamin weight limit limits intake levels level cholesterol glucose starting initial usual
    recommended typical single maintenance loading which would should could their these those other another increase
    increased reduce reduced exceed exceeding averaged around nearly roughly exactly only cocaine novel chocolate
    scheduled hospital carbon dioxide lithium serving salt fibre fiber acetone twice once three times nightly tonight
    today first orally morning evening until while again instead""".split()  # noqa: SIM905
)
_NO_NAME = ("ly", "ed", "ing")
"""Ends of adverbs and verbs before a dose: "usually started at 5 mg"."""


def drugs(text: str) -> Iterator[Entity]:
    """The drugs that a text names."""
    found = [Entity("drugs", *match.span(), match[0]) for match in _BY_STEM.finditer(text)]
    for pattern in (_BEFORE_DOSE, _AFTER_DOSE, _BY_CALL):
        for match in pattern.finditer(text):
            start, end = match.span("name")
            words = match["name"].split()
            while words and words[0].lower() in _NO_DRUG:
                start += len(words.pop(0)) + 1
            name = text[start:end]
            if words and not any(word.lower() in _NO_DRUG or word.endswith(_NO_NAME) for word in words):
                found.append(Entity("drugs", start, end, name))
    yield from without_overlaps(entity for entity in found if entity.text.lower() not in _NO_DRUG)
