"""The generated part of the Rust client: a table of operations, whose types are those of `punctual-wire`."""

import re
from pathlib import Path
from typing import Any

from document import JSON, Document, Operation, reference, types, words

HEADER = """//! One line for each operation, by the name that the OpenAPI document gives it. Generated from docs/openapi.json by
//! clients/generate; do not edit.

use punctual_wire as w;
use serde_json::Value;

use crate::table::{operations, queries};
"""
SCALARS = {"string": "String", "integer": "i64", "number": "f64", "boolean": "bool"}
#: Types that the compiler makes in a macro, and which the search below does not see.
MADE = {"Definitions": "w::definitions::Definitions"}
#: Words that Rust keeps for itself.
KEPT = {"type", "ref", "in", "for", "match", "move", "use", "where"}
PAGING = ["cursor", "limit"]


class Wire:
    """Where `punctual-wire` has the type of a schema."""

    def __init__(self, source: Path):
        self.paths: dict[str, str] = dict(MADE)
        self.readable: set[str] = set()
        self.writable: set[str] = set()
        for file in sorted(source.rglob("*.rs")):
            text = file.read_text()
            module = self._module(source, file)
            for found in re.finditer(r"((?:^(?:#\[.*\]|///.*)\n)*)^pub (?:struct|enum) (\w+)(.)", text, re.M):
                head, name, after = found.groups()
                if "ToSchema" not in head or after == "<":
                    continue
                renamed = re.search(r"\bas = (\w+)", head)
                schema = renamed[1] if renamed else name
                if schema in self.paths and schema not in MADE:
                    raise ValueError(f"two types for {schema}")
                self.paths[schema] = f"w::{module}::{name}"
                derived = re.search(r"derive\((.*)\)", head)
                if derived and "Deserialize" in derived[1] or f"Deserialize<'de> for {name}" in text:
                    self.readable.add(schema)
                if derived and re.search(r"\bSerialize", derived[1]) or f"Serialize for {name}" in text:
                    self.writable.add(schema)

    @staticmethod
    def _module(source: Path, file: Path) -> str:
        """The path of the module; one that is private has its types in the module above."""
        parts = list(file.relative_to(source).with_suffix("").parts)
        while len(parts) > 1:
            above = (source.joinpath(*parts[:-1])).with_suffix(".rs").read_text()
            if f"pub mod {parts[-1]};" in above:
                break
            parts.pop()
        return "::".join(parts)


def operations(document: Document, wire: Wire) -> str:
    queries: dict[str, str] = {}
    table: list[str] = []
    pages: list[str] = []
    for operation in document.operations():
        query = _query(operation, queries)
        table += _lines(document, wire, operation, query)
        item = operation.page_of(document)
        if item is not None:
            name = _snake(operation.id).removeprefix("list_")
            kind = _type(document, wire.readable, wire, item)
            pages.append(f"    /// {_sentence(operation.summary)} Page after page.\n    iter_{name}: {_path(operation)} [{query}] => {kind};")
    return "\n".join(
        [
            HEADER,
            "queries! {\n" + "\n".join(queries.values()) + "\n}\n",
            "operations! {\n" + "\n".join(table) + "\n}\n",
            "crate::table::pages! {\n" + "\n".join(pages) + "\n}\n",
        ]
    )


def _query(operation: Operation, queries: dict[str, str]) -> str | None:
    if not operation.in_query:
        return None
    paging = [one.name for one in operation.in_query] == PAGING
    name = "Paging" if paging else f"{operation.id[0].upper()}{operation.id[1:]}Query"
    about = "Which part of a list is meant." if paging else f"What `{_snake(operation.id)}` may be asked for."
    fields = []
    for one in operation.in_query:
        kind = SCALARS[next(kind for kind in types(one.schema) if kind != "null")]
        fields.append(f'        "{one.name}" {_snake(one.name)}: {kind if one.required else f"Option<{kind}>"},')
    queries[name] = f"    /// {about}\n    {name} {{\n" + "\n".join(fields) + "\n    }"
    return name


def _lines(document: Document, wire: Wire, operation: Operation, query: str | None) -> list[str]:
    name = _snake(operation.id)
    asked = f" [{query}]" if query else ""
    how = "bytes Vec<u8>"
    if operation.is_json:
        found = {None if one is None else _type(document, wire.readable, wire, one) for one in operation.flat_results}
        kinds = {"()" if one is None else one for one in found}
        how = f"json {kinds.pop() if len(kinds) == 1 else 'Value'}"
    several = operation.one_or_many()
    if several:
        lines = []
        for body, results in several:
            many = "array" in types(body)
            kind = _type(document, wire.writable, wire, body["items"] if many else body)
            result = _type(document, wire.readable, wire, results[0])
            about = _sentence(operation.summary) + (" Many at once, each with its outcome." if many else "")
            body_kind = f"[{kind}]" if many else kind
            lines.append(
                f"    /// {about}\n    {name}{'s' if many else ''}: {operation.method} {_path(operation)}{asked} "
                f"{{{body_kind}}} => json {result};"
            )
        return lines
    given = ""
    if operation.body is not None:
        choices = operation.body.get("oneOf", [operation.body])
        array = next((one for one in choices if "array" in types(one)), None)
        if operation.body_type != JSON:
            given = " (Vec<u8>)"
        elif array is not None:
            given = f" {{[{_type(document, wire.writable, wire, array['items'])}]}}"
        elif operation.method == "PATCH" and _takes_null(document, operation.body):
            # Without a field and with null are two things; a struct has one word for both.
            given = " {Value}"
        else:
            given = f" {{{_type(document, wire.writable, wire, operation.body)}}}"
    return [f"    /// {_sentence(operation.summary)}\n    {name}: {operation.method} {_path(operation)}{asked}{given} => {how};"]


def _path(operation: Operation) -> str:
    """Texts and the names of what stands between them: `"/api/v1/lists/" name ""`."""
    parts = re.split(r"{(\w+)}", operation.path)
    return " ".join(f'"{part}"' if number % 2 == 0 else _snake(part) for number, part in enumerate(parts))


def _type(document: Document, able: set[str], wire: Wire, schema: dict[str, Any]) -> str:
    """The type of a schema; JSON as it is where `punctual-wire` has none that can be read or written."""
    name = reference(schema)
    if name is None:
        return "Value"
    properties = document.schemas[name].get("properties", {})
    if name not in wire.paths and "items" in properties:
        item = _type(document, able, wire, properties["items"].get("items", {}))
        return f"w::Page<{item}>" if "nextCursor" in properties else f"w::Batch<{item}>"
    # What is closed in a request and open in an answer has two schemas and one type.
    name = name if name in wire.paths else name.removesuffix("Input")
    return wire.paths[name] if name in able else "Value"


def _takes_null(document: Document, schema: dict[str, Any]) -> bool:
    properties = document.resolved(schema).get("properties", {}).values()
    return any("null" in types(one) or {"type": "null"} in one.get("oneOf", []) for one in properties)


def _snake(name: str) -> str:
    snake = "_".join(words(name))
    return f"{snake}_" if snake in KEPT else snake


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
