"""Write the tables of rules in mathematics.md from the rules themselves: python docs/rule_tables.py."""

import re
from dataclasses import fields
from pathlib import Path

from confidently import REGRESSION_RULES, RULES, Rule

PAGE = Path(__file__).with_name("mathematics.md")
REFRESH = "python docs/rule_tables.py"
BEGIN, END = f"<!-- tables written by {REFRESH} -->\n", "<!-- tables end -->\n"
REGRESSION_BEGIN = f"<!-- rules of regression written by {REFRESH} -->\n"

RULE_HEAD = "| rule | acts when | step | weight $w$ of an example | source |\n|---|---|---|---|---|\n"
PARAMETER_HEAD = "| parameter | rules | meaning | range | default |\n|---|---|---|---|---|\n"

# Words of the rules' formulas and their TeX. Any other word of several letters is text.
TEX = {
    word: rf"\{word} "
    for word in ("alpha", "zeta", "gamma", "epsilon", "phi", "psi", "xi", "eta", "min", "exp", "lambda")
}
TEX |= {"<=": r"\le ", "Phi": r"\Phi "}
OTHERS = {"sqrt(": (r"\sqrt{", "}"), "abs(": (r"\lvert ", r"\rvert ")}  # a bar would end a cell of a table
TOKEN = re.compile(r"sqrt\(|abs\(|<=|[A-Za-z]+(?:_[a-z]{2,})*|\d+|.", re.DOTALL)


def tex(formula: str) -> str:
    """Return TeX of a formula such as ``alpha = (1 - m)/(v + r)``."""
    out, depth, open_ones = "", 0, []  # of the parentheses that are others in TeX: depth and end
    for token in TOKEN.findall(formula):
        if token in OTHERS:
            begin, end = OTHERS[token]
            out, open_ones, depth = out + begin, [*open_ones, (depth, end)], depth + 1
        elif token == "(":
            out, depth = out + token, depth + 1
        elif token == ")":
            depth -= 1
            closes = bool(open_ones) and open_ones[-1][0] == depth
            out, open_ones = out + (open_ones[-1][1] if closes else ")"), open_ones[:-1] if closes else open_ones
        else:
            text = token.isalpha() or "_" in token[1:]
            out += TEX.get(token) or (_text(token) if text and len(token) > 1 else token)
    return re.sub(r"(\\[A-Za-z]+) +(?=[}^,)/(])", r"\1", re.sub(" +", " ", out)).strip()


def _text(word: str) -> str:
    return r"\text{ of }" if word == "of" else r"\text{" + word.replace("_", r"\_") + "}"


def rule_table() -> str:
    """Return the table of rules."""
    return RULE_HEAD + "".join(map(_rule_row, RULES.values()))


def regression_table() -> str:
    """Return the table of the rules of regression."""
    return RULE_HEAD + "".join(map(_rule_row, REGRESSION_RULES.values()))


def _rule_row(rule: type[Rule]) -> str:
    acts = rule.acts_when if rule.acts_when == "always" else f"${tex(rule.acts_when)}$"
    weight = {None: _weight(rule.weight), "r": "divides $r$"}.get(rule.loss, f"multiplies ${rule.loss}$")
    return f"| `{rule.name}` | {acts} | {_step(rule.formula)} | {weight} | {rule.source} |\n"


def _weight(text: str) -> str:
    """Return what a weight does, with its formulas in TeX."""
    return re.sub(r"min\(w, 1\)", lambda found: f"${tex(found[0])}$", text) if "=" not in text else _step(text)


def _step(formula: str) -> str:
    """Return the formulas of a step, one per line."""
    if "=" not in formula:
        return f"`{formula}`"
    return "<br>".join(f"${part}$" for part in formulas(formula))


def formulas(step: str) -> list[str]:
    """Return TeX of each formula of a step."""
    return [tex(part) for part in re.split(r"(?:, |: )(?=[A-Za-z]\w*(?:\^2)? = )", step)]


def parameter_table() -> str:
    """Return the table of parameters: one line per meaning."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for rule in (RULES | REGRESSION_RULES).values():
        for field in fields(rule):
            default = rule().get_params()[field.name]
            cells = (field.metadata["meaning"], str(field.metadata["range"]), "" if default is None else f"{default:g}")
            lines.setdefault((field.name, *cells), []).append(f"`{rule.name}`")
    names = list(dict.fromkeys(name for name, *_ in lines))
    meanings = sorted(lines.items(), key=lambda line: names.index(line[0][0]))
    rows = ((f"`{name}`", ", ".join(rules), *cells) for (name, *cells), rules in meanings)
    return PARAMETER_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def page() -> str:
    """Return the whole page with current tables."""
    text = PAGE.read_text(encoding="utf-8")
    tables = {BEGIN: f"{rule_table()}\n{parameter_table()}", REGRESSION_BEGIN: regression_table()}
    for begin, table in tables.items():
        old = re.compile(f"{re.escape(begin)}.*?{re.escape(END)}", re.DOTALL)
        text, count = old.subn(lambda _, new=f"{begin}\n{table}\n{END}": new, text)
        assert count == 1, f"{PAGE.name} needs the lines {begin!r} and {END!r}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
