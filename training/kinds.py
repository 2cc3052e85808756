"""Words of one kind, of which at most one can be true in a place (red, blue), and words that mean the same."""

from __future__ import annotations

import random
import re

KINDS = {
    "colour": "red blue green yellow black white brown orange purple pink gray golden silver beige turquoise maroon",
    "country": """France Germany Italy Spain Portugal Poland Sweden Norway Finland Denmark Austria Hungary Greece Turkey
        Egypt Kenya Nigeria Ghana Morocco India China Japan Korea Vietnam Thailand Indonesia Australia Canada Mexico
        Brazil Argentina Chile Peru Colombia Cuba Russia Ukraine Ireland Scotland England Wales Iceland Israel Iran""",
    "nationality": """French German Italian Spanish Portuguese Polish Swedish Norwegian Finnish Danish Austrian
        Hungarian Greek Turkish Egyptian Kenyan Nigerian Indian Chinese Japanese Korean Vietnamese Thai Australian
        Canadian Mexican Brazilian Argentine Chilean Cuban Russian Ukrainian Irish Scottish English Welsh Dutch""",
    "city": """London Paris Berlin Rome Madrid Lisbon Vienna Prague Warsaw Moscow Tokyo Beijing Delhi Mumbai Sydney
        Toronto Chicago Boston Seattle Dallas Houston Miami Atlanta Denver Philadelphia Cairo Dublin Amsterdam""",
    "instrument": """guitar piano violin drums trumpet flute saxophone cello harp clarinet accordion banjo trombone
        tuba harmonica keyboard ukulele mandolin""",
    "animal": "dog cat horse cow sheep goat pig rabbit duck chicken elephant lion tiger bear monkey camel wolf deer",
    "drink": "water coffee tea beer wine milk juice soda lemonade whiskey vodka champagne cider cocoa",
    "fruit": "apple banana orange pear peach grape cherry lemon mango melon strawberry pineapple plum",
    "vegetable": "carrots potatoes onions tomatoes cabbage spinach lettuce beans peas broccoli corn cucumbers pumpkins",
    "room": "kitchen bedroom bathroom basement attic garage hallway office classroom library garden cellar",
    "material": "wood metal plastic glass stone paper leather cotton silk wool iron steel copper concrete brick",
    "planet": "Mercury Venus Mars Jupiter Saturn Uranus Neptune",
    "sport": "soccer football basketball baseball tennis golf hockey rugby volleyball cricket swimming boxing skiing",
    "vehicle": "car truck bus bicycle motorcycle boat train airplane helicopter van scooter tractor ship",
    "clothes": "shirt jacket coat dress hat sweater scarf suit skirt vest jeans shorts gloves boots",
    "person": "man woman boy girl",
    "people": "men women boys girls",
    "work": """teacher doctor lawyer nurse engineer farmer soldier singer actor painter writer chef waiter pilot
        journalist dentist plumber carpenter musician dancer photographer""",
    "relative": "father mother brother sister son daughter uncle aunt grandfather grandmother husband wife",
    "action": "walking running sleeping sitting standing swimming dancing jumping eating reading singing crying",
    "season": "spring summer autumn winter",
    "place": "beach park street forest desert mountain river restaurant supermarket airport hospital church school",
    "day part": "morning afternoon evening night",
    "ordinal": "first second third fourth fifth sixth seventh eighth ninth tenth",
    "cardinal": "two three four five six seven eight nine ten eleven twelve",
    "month": """January February March April June July August September October November December""",
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "direction": "north south east west",
    "feeling": "happy sad angry bored excited scared",
    "weather": "sunny rainy snowy cloudy foggy windy",
    "subject": "physics chemistry biology mathematics history geography economics philosophy",
    "art": "novel poem film album song play opera painting sculpture",
}
MEMBERS = {name: words.split() for name, words in KINDS.items()}
KIND_OF = {word: name for name, words in MEMBERS.items() for word in words}
_SAME = """
    big/large small/little quick/fast begin/start begins/starts began/started happy/glad sofa/couch kids/children
    kid/child road/street photo/picture photos/pictures bicycle/bike airplane/plane automobile/car shop/store
    buys/purchases bought/purchased sick/ill near/close.to speaking/talking speaks/talks jumping/leaping
    yelling/shouting looking.at/watching movie/film movies/films rock/stone rocks/stones autumn/fall father/dad
    mother/mom soda/pop couple/pair several/some huge/enormous tiny/very.small wealthy/rich smart/clever
    physician/doctor attorney/lawyer assist/help assists/helps created/made build/construct built/constructed
    died/passed.away children/youngsters gift/present finished/completed ends/finishes frequently/often
    garbage/trash infant/baby woods/forest ocean/sea wonderful/great hard/difficult correct/right close/shut
    hat/cap elderly/old roughly/about approximately/about nearly/almost vacation/holiday wed/married
    released/published demonstrated/showed whole/entire required/needed discovered/found located/situated
"""
SAME = [group.split("/") for group in _SAME.split()]
SAME_AS: dict[str, str] = {}
for _left, _right in SAME:
    SAME_AS.setdefault(_left.replace(".", " "), _right.replace(".", " "))
    SAME_AS.setdefault(_right.replace(".", " "), _left.replace(".", " "))


def other_of_kind(sentence: str, rng: random.Random) -> tuple[str, str] | None:
    """The sentence with one word replaced by another of its kind, and that kind; None without such a word."""
    found = [word for word in re.findall(r"[A-Za-z]+", sentence) if word in KIND_OF]
    if not found:
        return None
    word = rng.choice(found)
    kind = KIND_OF[word]
    # A thing named elsewhere in the sentence could make the changed sentence true as well.
    other = [new for new in MEMBERS[kind] if new not in sentence]
    # Men are people as boys are: of the four only the other sex excludes.
    if kind in ("person", "people"):
        other = [new for new in other if (MEMBERS[kind].index(new) - MEMBERS[kind].index(word)) % 2]
    return (_replace(sentence, word, rng.choice(other)), kind) if other else None


def same_meaning(sentence: str, rng: random.Random) -> str | None:
    """The sentence with one word replaced by one that means the same; None without such a word."""
    found = [word for word in re.findall(r"[a-z]+", sentence) if word in SAME_AS]
    return _replace(sentence, word, SAME_AS[word]) if found and (word := rng.choice(found)) else None


def _replace(sentence: str, old: str, new: str) -> str:
    changed = re.sub(rf"\b{re.escape(old)}\b", lambda _: new, sentence, count=1)
    vowel = new[0].lower() in "aeiou"
    return re.sub(rf"\b([Aa])n? (?={re.escape(new)}\b)", lambda m: m[1] + ("n " if vowel else " "), changed)
