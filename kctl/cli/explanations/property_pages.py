"""Pages of `kctl explain` about limits and client properties."""

from kctl.cli.explanations.limits import LIMITS, Limit
from kctl.cli.explanations.page import Page
from kctl.cli.settings import ALL_KINDS, ENVIRONMENT_PREFIX
from kctl.client.config import KINDS, AnyProperty
from kctl.grammar.durations import show_duration


def limit_page(limit: Limit) -> Page:
    words = [
        limit.name,
        f"({limit.flag})" if limit.flag else "",
        "" if limit.client == "every" else f"of the {limit.client}",
    ]
    declared = limit.kind.PROPERTIES[limit.name] if limit.kind is not None else None
    return Page(
        "limit",
        limit.name,
        f"limit {' '.join(filter(None, words))}, default {limit.default_text}",
        (limit.covers,),
        facts=() if declared is None else _facts(declared),
    )


def property_page(declared: AnyProperty) -> Page:
    return Page("property", declared.name, f"property {declared.name}", (declared.doc,), facts=_facts(declared))


def ignored_page(name: str, reason: str, *, is_refused: bool) -> Page:
    text = f"kctl rejects this property: {reason}." if is_refused else f"kctl ignores this property: {reason}."
    return Page("property", name, f"property {name}", (text,))


def _defaults_text(defaults: dict[str, str]) -> str:
    if len(set(defaults.values())) <= 1:
        return next(iter(defaults.values()), "none")
    return ", ".join(f"{value} ({kind})" for kind, value in defaults.items())


def _facts(declared: AnyProperty) -> tuple[tuple[str, str], ...]:
    having = [kind for kind in ALL_KINDS if declared.name in kind.PROPERTIES and declared.name not in kind.INSTEAD]
    clients = "every client" if len(having) == len(KINDS) else ", ".join(kind.KIND for kind in having)
    defaults = {kind.KIND: _default(kind.PROPERTIES[declared.name]) for kind in having}
    flags = dict.fromkeys(limit.flag for limit in LIMITS if limit.name == declared.name and limit.flag)
    facts = [
        ("takes", declared.kind.accepted),
        ("default", _defaults_text(defaults)),
        ("clients", clients),
        ("second name", declared.alias or ""),
        ("option", ", ".join(flags)),
        ("variable", ENVIRONMENT_PREFIX + declared.name.upper().replace(".", "_")),
        ("secret", "yes. kctl never prints the value, and rejects the property in -X" if declared.secret else ""),
    ]
    return tuple((name, value) for name, value in facts if value)


def _default(declared: AnyProperty) -> str:
    if declared.default is None:
        return "none"
    text = declared.show(declared.default)
    if declared.name.endswith(".ms") and isinstance(declared.default, int) and 0 < declared.default < 1 << 53:
        return f"{text} ({show_duration(declared.default)})"
    return text or "none"
