"""The generated part of the TypeScript client."""

import json
import re
from typing import Any

from document import JSON, Document, Operation, reference, types, words

HEADER = "// {about} Generated from docs/openapi.json by clients/generate; do not edit.\n"
SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def models(document: Document) -> str:
    parts = [HEADER.format(about="The shapes of requests and responses.")]
    for name, schema in sorted(document.schemas.items()):
        parts.append(_comment(schema.get("description", ""), ""))
        if "properties" not in schema:
            parts.append(f"export type {name} = {_type(schema)};\n")
            continue
        parts.append(f"export interface {name} {{")
        required = schema.get("required", [])
        for field, part in schema["properties"].items():
            parts.append(_comment(part.get("description", ""), "  "))
            key = field if re.fullmatch(r"\w+", field) else f'"{field}"'
            parts.append(f"  {key}{'' if field in required else '?'}: {_type(part)};")
        parts.append("}\n")
    return "\n".join(part for part in parts if part) + "\n"


def _comment(text: str, indent: str) -> str:
    line = " ".join(text.split()).replace("*/", "* /")
    return f"{indent}/** {line} */" if line else ""


def _type(schema: dict[str, Any], prefix: str = "") -> str:
    name = reference(schema)
    if name:
        return prefix + name
    if choices := schema.get("oneOf") or schema.get("anyOf"):
        return _union([_type(one, prefix) for one in choices])
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    kinds = []
    for kind in types(schema):
        if kind == "array":
            item = _type(schema.get("items", {}), prefix)
            kinds.append(f"({item})[]" if " " in item else f"{item}[]")
        elif kind == "object":
            more = schema.get("additionalProperties")
            kinds.append(f"Record<string, {_type(more, prefix) if isinstance(more, dict) else 'unknown'}>")
        else:
            kinds.append(SCALARS[kind])
    return _union(kinds) if kinds else "unknown"


def _union(kinds: list[str]) -> str:
    return " | ".join(dict.fromkeys(kinds))


def operations(document: Document) -> str:
    parts = [
        HEADER.format(about="One method for each operation."),
        'import type * as m from "./models.js";',
        'import { Transport, type PostOptions, type RawBody } from "./transport.js";\n',
        "/** Every operation of the API, by the name that the OpenAPI document gives it. */",
        "export class Operations extends Transport {",
    ]
    for operation in document.operations():
        parts.append(_method(operation))
        item = operation.page_of(document)
        if item is not None:
            parts.append(_iterator(operation, item))
    return "\n".join(parts) + "}\n"


def _method(operation: Operation) -> str:
    path = operation.path
    for one in operation.in_path:
        path = path.replace(f"{{{one.name}}}", f"${{this.segment('{one.name}', {_camel(one.name)})}}")
    options = []
    if operation.in_query:
        options.append("query")
    if operation.body is not None:
        options.append("body")
        if operation.body_type != JSON:
            kind = "text/plain" if operation.body_type == "*/*" else operation.body_type
            options.append(f'contentType: "{kind}"')
    if operation.method == "POST":
        options.append("idempotencyKey: options.idempotencyKey")
    call = "raw" if not operation.is_json else "call"
    given = f", {{ {', '.join(options)} }}" if options else ""
    overloads = ""
    for body, results in operation.one_or_many():
        rest = _arguments(operation)[len(operation.in_path) + 1 :]
        taken = ", ".join([f"body: {_type(body, 'm.')}", *(one.replace(": PostOptions = {}", "?: PostOptions") for one in rest)])
        returned = _union([_type(one, "m.") for one in results])
        overloads += f"  {operation.id}({taken}): Promise<{returned}>;\n"
    return (
        f"{_comment(operation.summary, '  ')}\n{overloads}"
        # A mistake in the arguments is a rejection too, and no exception beside it.
        f"  async {operation.id}({', '.join(_arguments(operation))}): Promise<{_result(operation)}> {{\n"
        f'    return this.{call}("{operation.method}", `{path}`{given});\n  }}\n'
    )


def _iterator(operation: Operation, item: dict[str, Any]) -> str:
    name = "each" + operation.id.removeprefix("list")[:1].upper() + operation.id.removeprefix("list")[1:]
    if not operation.id.startswith("list"):
        name = "each" + operation.id[0].upper() + operation.id[1:]
    given = [_camel(one.name) for one in operation.in_path]
    return (
        f"{_comment(operation.summary + '; page after page', '  ')}\n"
        f"  {name}({', '.join(_arguments(operation))}): AsyncGenerator<{_type(item, 'm.')}> {{\n"
        f"    return this.items((cursor) => this.{operation.id}({', '.join([*given, '{ ...query, cursor }'])}));\n  }}\n"
    )


def _arguments(operation: Operation) -> list[str]:
    arguments = [f"{_camel(one.name)}: {_type(one.schema, 'm.')}" for one in operation.in_path]
    if operation.body is not None:
        kind = _type(operation.body, "m.") if operation.body_type == JSON else "RawBody"
        arguments.append(f"body: {kind}" if operation.body_required else f"body?: {kind}")
    if operation.in_query:
        fields = "; ".join(
            f"{one.name if re.fullmatch(chr(92) + 'w+', one.name) else repr(one.name)}{'' if one.required else '?'}: {_type(one.schema, 'm.')}"
            for one in operation.in_query
        )
        needed = any(one.required for one in operation.in_query)
        arguments.append(f"query: {{ {fields} }}{'' if needed else ' = {}'}")
    if operation.method == "POST":
        arguments.append("options: PostOptions = {}")
    return arguments


def _result(operation: Operation) -> str:
    if not operation.is_json:
        return "ArrayBuffer"
    return _union(["void" if one is None else _type(one, "m.") for one in operation.flat_results])


def _camel(name: str) -> str:
    first, *rest = words(name)
    return first + "".join(word.capitalize() for word in rest)
