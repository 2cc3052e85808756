"""What no evidence could decide, and the near misses: facts that are dressed as opinions stay facts."""

import pytest

from evidencerails.text.subjective import subject_of

SUBJECTIVE = [
    ("It is a wonderful place to grow old in.", "opinion"),
    ("Paris is a beautiful city.", "opinion"),
    ("The view from the tower is simply stunning!", "opinion"),
    ("I think the tower is beautiful.", "opinion"),
    ("In my opinion, the novel is quite boring.", "opinion"),
    ("The museum is well worth a visit.", "opinion"),
    ("What a lovely story!", "opinion"),
    ("It's gorgeous.", "opinion"),
    ("What a lovely bridge!", "opinion"),
    ("It depends on your taste.", "opinion"),
    ("You will love it.", "opinion"),
    ("I hope the bridge opens again soon.", "wish"),
    ("Hopefully the weather stays dry.", "wish"),
    ("I really love this bridge.", "feeling"),
    ("I am a big fan of old bridges.", "feeling"),
    ("My favourite part is the ending.", "feeling"),
    ("Only time will tell whether the plan works.", "guess"),
    ("It remains to be seen how the town reacts.", "guess"),
    ("The future looks bright.", "guess"),
]
FACTS = [
    "I think the tower was built in 1901.",
    "I believe that the tower stands in Lyon.",
    "In my opinion, the company employs 300 people.",
    "Personally, I would say the mayor resigned.",
    "The tower is an impressive 330 metres tall.",
    "The tower is beautiful because it was built of iron.",
    "The bridge is great for ships of up to 40,000 tonnes.",
    "The drug is a great treatment for cancer.",
    "The drug is good for the heart.",
    "It is the most beautiful city in France.",
    "Paris is more beautiful than Lyon.",
    "I love that the bridge was closed.",
    "I guess the mayor resigned.",
    "I feel that the court was wrong.",
    "I predict that sales rise by 5 % next year.",
    "I hope the bridge opens in 2027.",
    "The committee hopes for a second term.",
    "The critics found the film boring.",
    "She loves old bridges.",
    "The company will open an office in Oslo.",
    "You should take the tablets with water.",
    "The museum, which is wonderful, opened to the public.",
    "The tower is tall.",
    "The water is good to drink.",
    "Pretty is a village in Ohio.",
    "",
]


@pytest.mark.parametrize(("claim", "kind"), [*SUBJECTIVE, *((fact, None) for fact in FACTS)])
def test_taste_wishes_feelings_guesses_and_facts_dressed_as_them(claim: str, kind: str | None) -> None:
    assert subject_of(claim) == kind
