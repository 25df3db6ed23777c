"""Write the tables of rules in mathematics.md from the rules themselves: python docs/rule_tables.py."""

import re
from dataclasses import fields
from pathlib import Path

from confidently import RULES
from confidently.rules.rule import Rule

PAGE = Path(__file__).with_name("mathematics.md")
REFRESH = "python docs/rule_tables.py"
BEGIN, END = f"<!-- tables written by {REFRESH} -->\n", "<!-- tables end -->\n"
OLD = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)

RULE_HEAD = "| rule | acts when | step | weight $w$ of an example | source |\n|---|---|---|---|---|\n"
PARAMETER_HEAD = "| parameter | rules | meaning | range | default |\n|---|---|---|---|---|\n"

# Words of the rules' formulas and their TeX. Any other word of several letters is text.
TEX = {word: rf"\{word} " for word in ("alpha", "zeta", "gamma", "epsilon", "phi", "psi", "xi", "eta", "min", "exp")}
TEX |= {"<=": r"\le ", "Phi": r"\Phi "}
TOKEN = re.compile(r"sqrt\(|<=|[A-Za-z]+(?:_[a-z]{2,})*|\d+|.", re.DOTALL)


def tex(formula: str) -> str:
    """Return TeX of a formula such as ``alpha = (1 - m)/(v + r)``."""
    out, depth, roots = "", 0, []  # roots: the depths of parentheses that close a root
    for token in TOKEN.findall(formula):
        if token == "sqrt(":
            out, roots, depth = out + r"\sqrt{", [*roots, depth], depth + 1
        elif token == "(":
            out, depth = out + token, depth + 1
        elif token == ")":
            depth -= 1
            closes = bool(roots) and roots[-1] == depth
            out, roots = out + ("}" if closes else ")"), roots[:-1] if closes else roots
        else:
            text = token.isalpha() or "_" in token[1:]
            out += TEX.get(token) or (_text(token) if text and len(token) > 1 else token)
    return re.sub(r"(\\[A-Za-z]+) +(?=[}^,)/(])", r"\1", re.sub(" +", " ", out)).strip()


def _text(word: str) -> str:
    return r"\text{ of }" if word == "of" else r"\text{" + word.replace("_", r"\_") + "}"


def rule_table() -> str:
    """Return the table of rules."""
    return RULE_HEAD + "".join(map(_rule_row, RULES.values()))


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
    parts = re.split(r"(?:, |: )(?=[A-Za-z]\w*(?:\^2)? = )", formula)
    return "<br>".join(f"${tex(part)}$" for part in parts)


def parameter_table() -> str:
    """Return the table of parameters: one line per meaning."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for rule in RULES.values():
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
    tables = f"{BEGIN}\n{rule_table()}\n{parameter_table()}\n{END}"
    text, count = OLD.subn(lambda _: tables, PAGE.read_text(encoding="utf-8"))
    assert count == 1, f"{PAGE.name} needs the lines {BEGIN!r} and {END!r}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
