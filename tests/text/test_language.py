"""Languages are named only when they are sure."""

import subprocess
import sys

import pytest

from evidencerails.text.language import detect_language

ENGLISH = """The Eiffel Tower is in Paris.
Paris: capital of France.
nadal beat federer in madrid last night
the taj mahal in agra was built by shah jahan
A man plays guitar on a stage.
The sign says "Betreten des Rasens verboten", which means that you must keep off it.
Mercedes-Benz und BMW are German car makers.
The Livonian Master, like the grandmaster of the Teutonic Order, was elected.
You can return the product within 30 days if it has not been opened.""".splitlines()

UNKNOWN = [
    "", " \n", "No.", "Berlin", "Bonjour", "1999", "$4.2bn; 12%", "La La Land", "Jean-François André Clervoy",
    "Volkswagen AG, Wolfsburg, Germany", "Jack Paar was a German.", "Avant-garde fusion rock.",
    "```python\nfuer_alle = [x for x in die_liste]\n```", "https://de.wikipedia.org/wiki/Liste_der_Hauptstaedte",
    "\x00\u202e", "\ud800", "a" * 100_000,
]  # fmt: skip

OTHERS = [
    ("de", 'Der Film heißt im Original "The Lives of Others" und wurde in Berlin gedreht, wo er auch spielt.'),
    ("de", "Rückgaben sind innerhalb von 30 Tagen möglich."),
    ("fr", "Elle a été construite en 1889 par Gustave Eiffel."),
    ("es", "El reembolso se puede solicitar en un plazo de 30 días."),
    ("sv", "Huvudstaden i Frankrike är Paris."),
    ("no", "Hovedstaden i Norge er Oslo, og byen ligger ved fjorden."),
    ("tr", "Fransa'nın başkenti Paris'tir ve çok güzel bir şehirdir."),
    ("ru", "Столица Франции — Париж."),
    ("uk", "Столиця Франції — Париж, і це велике місто."),
    ("ar", "عاصمة فرنسا هي باريس."),
    ("hi", "फ्रांस की राजधानी पेरिस है।"),
    ("ja", "フランスの首都はパリです。"),
    ("zh", "法国的首都是巴黎。"),
    ("zh", "该仓库于1987年开业。"),
    ("ja", "このデポは1987年に開業した。"),
    ("ko", "프랑스의 수도는 파리입니다."),
    ("el", "Η πρωτεύουσα της Γαλλίας είναι το Παρίσι."),
    ("he", "בירת צרפת היא פריז."),
    ("th", "เมืองหลวงของฝรั่งเศสคือปารีส"),
]


ROWS = [*(("en", text) for text in ENGLISH), *((None, text) for text in UNKNOWN), *OTHERS]


@pytest.mark.parametrize(("language", "text"), ROWS)
def test_a_language_is_named_only_where_it_is_sure(language: str | None, text: str) -> None:
    assert detect_language(text) == language


def test_plain_english_loads_no_language_model() -> None:
    program = (
        "import sys; from evidencerails.text.language import detect_language;"
        "assert detect_language('The tower is in Paris and it was built in 1889.') == 'en';"
        "assert not any(name.startswith('py3langid') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
