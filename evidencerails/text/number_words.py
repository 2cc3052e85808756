"""English words for numbers below a hundred."""

from __future__ import annotations

ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEENS = (
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = {
    "zero": 0,
    **{word: value for value, word in enumerate((*ONES, *TEENS), 1)},
    **{word: 10 * value for value, word in enumerate(TENS, 2)},
}
"""Value of each word."""
