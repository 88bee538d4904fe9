"""The generated part of the Python client."""

import keyword
import re
from typing import Any

from document import Document, Operation, reference, types, words

HEADER = '"""{about} Generated from docs/openapi.json by clients/generate; do not edit."""\n'
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def models(document: Document) -> str:
    lines = [
        HEADER.format(about="The shapes of requests and responses."),
        "from __future__ import annotations\n",
        "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union\n",
    ]
    for name, schema in sorted(document.schemas.items()):
        lines.append(f"\n{_model(name, schema)}")
    names = ",\n".join(f'    "{name}"' for name in sorted(document.schemas))
    return "\n".join(lines) + f"\n\n__all__ = [\n{names},\n]\n"


def _model(name: str, schema: dict[str, Any]) -> str:
    if "properties" not in schema:
        return f'{name}: TypeAlias = "{_type(schema)}"'
    required = schema.get("required", [])
    fields = []
    for field, part in schema["properties"].items():
        kind = _type(part)
        fields.append(f'        "{field}": {kind if field in required else f"NotRequired[{kind}]"},')
    body = "\n".join(_quote_names(field) for field in fields)
    return f'{name} = TypedDict(\n    "{name}",\n    {{\n{body}\n    }},\n)'


def _quote_names(field: str) -> str:
    """The functional form evaluates types at once, so each stands in quotes."""
    name, _, kind = field.partition(": ")
    kind = kind.removesuffix(",")
    if kind.startswith("NotRequired["):
        return f'{name}: NotRequired["{kind[len("NotRequired["):-1]}"],'
    return f'{name}: "{kind}",'


def _type(schema: dict[str, Any]) -> str:
    name = reference(schema)
    if name:
        return name
    if choices := schema.get("oneOf") or schema.get("anyOf"):
        return _union([_type(one) for one in choices])
    if "enum" in schema:
        return "Literal[" + ", ".join("None" if one is None else f"'{one}'" for one in schema["enum"]) + "]"
    kinds = []
    for kind in types(schema):
        if kind == "array":
            kinds.append(f"list[{_type(schema.get('items', {}))}]")
        elif kind == "object":
            more = schema.get("additionalProperties")
            kinds.append(f"dict[str, {_type(more) if isinstance(more, dict) else 'Any'}]")
        else:
            kinds.append(SCALARS[kind])
    return _union(kinds) if kinds else "Any"


def _union(kinds: list[str]) -> str:
    distinct = list(dict.fromkeys(kinds))
    return distinct[0] if len(distinct) == 1 else f"Union[{', '.join(distinct)}]"


def operations(document: Document) -> str:
    lines = [
        HEADER.format(about="One method for each operation."),
        "from __future__ import annotations\n",
        "from typing import Any, Iterator, Literal, Optional, Union, overload\n",
        "from . import _models as m",
        "from ._transport import Transport\n",
        "\nclass Operations(Transport):",
        '    """Every operation of the API, by the name that the OpenAPI document gives it."""',
    ]
    for operation in document.operations():
        lines.append(_method(document, operation))
        item = operation.page_of(document)
        if item is not None:
            lines.append(_iterator(operation, item))
    return "\n".join(lines) + "\n"


def _method(document: Document, operation: Operation) -> str:
    result = _result(operation)
    arguments, keywords = _arguments(operation)
    query = ", ".join(f'"{one.name}": {_snake(one.name)}' for one in operation.in_query)
    path = operation.path
    for one in operation.in_path:
        path = path.replace(f"{{{one.name}}}", f"{{self._segment('{one.name}', {_snake(one.name)})}}")
    call = [f'"{operation.method}"', f'f"{path}"' if operation.in_path else f'"{path}"']
    if query:
        call.append(f"query={{{query}}}")
    if operation.body is not None:
        call.append("body=body")
        if operation.body_type != "application/json":
            call.append(f'content_type={_content_type(operation)}')
    if operation.method == "POST":
        call.append("idempotency_key=idempotency_key")
    if not operation.is_json:
        call.append("raw=True")
    signature = ", ".join(["self", *arguments, *(["*", *keywords] if keywords else [])])
    overloads = ""
    for body, results in operation.one_or_many():
        kind = _named(_type(body))
        given = ", ".join(["self", f"body: {kind}", *(["*", *keywords] if keywords else [])])
        returned = _named(_union([_type(one) for one in results]))
        overloads += f"\n    @overload\n    def {_snake(operation.id)}({given}) -> {returned}: ...\n"
    return (
        f"{overloads}\n    def {_snake(operation.id)}({signature}) -> {result}:\n"
        f'        """{_sentence(operation.summary)}"""\n'
        f"        return self._call({', '.join(call)})"
    )


def _iterator(operation: Operation, item: dict[str, Any]) -> str:
    arguments, keywords = _arguments(operation)
    keywords = [one for one in keywords if not one.startswith("cursor:")]
    name = _snake(operation.id)
    given = [_snake(one.name) for one in operation.in_path]
    given += [f"{_snake(one.name)}={_snake(one.name)}" for one in operation.in_query if one.name != "cursor"]
    signature = ", ".join(["self", *arguments, *(["*", *keywords] if keywords else [])])
    return (
        f"\n    def iter_{name.removeprefix('list_')}({signature}) -> Iterator[{_named(_type(item))}]:\n"
        f'        """{_sentence(operation.summary)} Page after page."""\n'
        f"        return self._items(lambda cursor: self.{name}({', '.join([*given, 'cursor=cursor'])}))"
    )


def _arguments(operation: Operation) -> tuple[list[str], list[str]]:
    arguments = [f"{_snake(one.name)}: {_named(_type(one.schema))}" for one in operation.in_path]
    keywords = []
    if operation.body is not None:
        kind = _named(_type(operation.body)) if operation.body_type == "application/json" else "Union[str, bytes]"
        arguments.append(f"body: {kind}" if operation.body_required else f"body: Optional[{kind}] = None")
    if operation.body_type == "*/*":
        keywords.append('content_type: str = "application/json"')
    for one in operation.in_query:
        kind = _named(_type(one.schema))
        keywords.append(f"{_snake(one.name)}: {kind}" if one.required else f"{_snake(one.name)}: Optional[{kind}] = None")
    if operation.method == "POST":
        keywords.append("idempotency_key: Optional[str] = None")
    return arguments, keywords


def _content_type(operation: Operation) -> str:
    return "content_type" if operation.body_type == "*/*" else f'"{operation.body_type}"'


def _result(operation: Operation) -> str:
    if not operation.is_json:
        return "bytes"
    return _named(_union(["None" if one is None else _type(one) for one in operation.flat_results]))


def _named(kind: str) -> str:
    """Names of models, as seen from the module of operations."""
    builtin = {"Any", "Literal", "Union", "Optional", "None", "NotRequired"}
    outside = re.split(r"('[^']*')", kind)
    return "".join(
        part if part.startswith("'") else re.sub(r"\b([A-Z]\w*)", lambda found: found[1] if found[1] in builtin else f"m.{found[1]}", part)
        for part in outside
    )


def _snake(name: str) -> str:
    snake = "_".join(words(name))
    return f"{snake}_" if keyword.iskeyword(snake) else snake


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
