"""How disordered a value is: random characters, or words and numbers as in identifiers.

The table has the cost of each pair of neighbouring characters in the identifiers and words of programs and
manuals, in half bits. A random value is more costly in the language of programs than in its own alphabet.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

# Rows: the first character. Columns: the second. Both a to z, a digit, any other sign. `a` is 0, `b` is 1.
_PAIRS = (
    "okiiqoktktngihvksgifmmpnmsnm",
    "gmkohoorhjpfoohosjjohqstjqkj",
    "hqmnhpshkxijopfotjmgkrtoowmj",
    "hnmjelpqgsrkooinskjmkqqtovlg",
    "joiimlmrourjkgolmfhhrmnjmvnh",
    "iommihqsexuiongnuilkjtqtmzjj",
    "knkpdpmjiuriliknvhilkrrurqoh",
    "eqooeprrhwpnlogosjmiltrumxoh",
    "klijklkwrwrijehlrkhhslwnylto",
    "hnnleorqksnpmphjopfoholuqwnj",
    "jolmdnlphsrlnlmmrnimkpmvpwog",
    "honkenpsfvqhqqgmvqkjjpswluqi",
    "fkoneqrthwpkkohgtqknlruroyqh",
    "iqihhlgqjtnmpminuphfkmrvqupi",
    "mljiqmmtmrmiiflixfjkimkpsusk",
    "fronfppljyoipmhjsglhkqrtlroi",
    "kononopqnqrgootrllmobppustoj",
    "gqkleolshxnnkmhovjiimnqwkzpi",
    "kqjpfnpjhvnmonjjnoiejqotlvph",
    "hqlnfnqigurmnphmvhjkmrpsjung",
    "kkklilnuizuhigoiyhhhtuyqxwhp",
    "eomqcopsgxvqookmwpnnssotqtml",
    "folmhopjfsoloihothjnrqpqusqh",
    "loiogmsqjwtnkqmgspnfrrrjlthf",
    "jmlnknnqlrrjjimetmhipqlrpqoe",
    "ippqcpsoiwsnlrkpuqonrtrulofh",
    "lllklluusxsqrutrwrrsstvlxybh",
    "jkhjjjllirnjijkiqjhillmrtrlh",
)
_SYMBOLS = "abcdefghijklmnopqrstuvwxyz0_"
# The cost of a change of case in programs, and in random letters of both cases.
_SAME, _CHANGE, _RANDOM = 0.7, 8.8, 4.0
_CAPITALS = 6.0
_HEX = re.compile(r"[0-9a-f]*|[0-9A-F]*")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_LONGEST = 96

_CODES = {chr(code): chr(code) if chr(code).isascii() and chr(code).isalpha() else "_" for code in range(256)}
_SYMBOL = str.maketrans({**_CODES, **dict.fromkeys("0123456789", "0")})


def _table(letter: float, digit: float, sign: float, *, mixed: bool) -> dict[tuple[str, str], float]:
    """What each pair adds, if a random letter, digit or sign costs so much."""
    return {
        (first, second): float(ord(cost) - 97)
        - (digit if second == "0" else sign if second == "_" else letter)
        + (_case(first, second) if mixed and first.isalpha() and second.isalpha() else 0.0)
        for low, row in zip(_SYMBOLS, _PAIRS, strict=True)
        for high, cost in zip(_SYMBOLS, row, strict=True)
        for first in {low, low.upper()}
        for second in {high, high.upper()}
    }


def _case(first: str, second: str) -> float:
    same = first.isupper() == second.isupper()
    return (_CAPITALS if first.isupper() else _SAME) - _RANDOM if same else _CHANGE - _RANDOM


_OF_HEX = _table(8.0, 1.4, 8.0, mixed=False)
_OF_BOTH_CASES = _table(9.9, 5.3, 10.0, mixed=True)
_OF_ONE_CASE = _table(10.3, 3.7, 10.0, mixed=False)


@lru_cache(maxsize=2048)
def disorder(value: str) -> float:
    """Half bits per character by which the value is more likely random (above 0) than written (below 0)."""
    value = value[:_LONGEST]
    if len(value) < 2:
        return -9.0
    if _HEX.fullmatch(value):
        table = _OF_HEX
    else:
        table = _OF_BOTH_CASES if value != value.lower() and value != value.upper() else _OF_ONE_CASE
    symbols = value.translate(_SYMBOL)
    if not symbols.isascii():
        symbols = _NOT_ASCII.sub("_", symbols)
    return sum(map(table.__getitem__, pairwise(symbols))) / (len(symbols) - 1)
