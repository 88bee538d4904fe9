"""What the generators see of the OpenAPI document."""

import re
from dataclasses import dataclass
from typing import Any, Iterator

JSON = "application/json"


@dataclass
class Parameter:
    name: str
    where: str
    required: bool
    schema: dict[str, Any]
    description: str


@dataclass
class Operation:
    id: str
    method: str
    path: str
    summary: str
    parameters: list[Parameter]
    body: dict[str, Any] | None
    body_type: str | None
    body_required: bool
    # The schemas of its successes; None where one has no body.
    results: list[dict[str, Any] | None]
    is_json: bool

    @property
    def in_path(self) -> list[Parameter]:
        """In the order in which the path has them."""
        order = re.findall(r"{(\w+)}", self.path)
        found = [one for one in self.parameters if one.where == "path"]
        return sorted(found, key=lambda one: order.index(one.name))

    @property
    def in_query(self) -> list[Parameter]:
        # One such as `candidate.{field}` stands for many and has no name of its own.
        return [one for one in self.parameters if one.where == "query" and "{" not in one.name]

    @property
    def flat_results(self) -> list[dict[str, Any] | None]:
        return [one for result in self.results for one in (result or {}).get("oneOf", [result])]

    def one_or_many(self) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Where one body or an array is taken, each with what it returns."""
        choices = (self.body or {}).get("oneOf", [])
        flat = [one for one in self.flat_results if one]
        batch = [one for one in flat if reference(one) == "BatchResult"]
        if len(choices) != 2 or not batch:
            return []
        alone = [one for number, one in enumerate(flat) if one not in batch and one not in flat[:number]]
        return [(one, batch[:1] if "array" in types(one) else alone) for one in choices]

    def page_of(self, document: "Document") -> dict[str, Any] | None:
        """The schema of an item, where the operation returns pages."""
        if not any(one.name == "cursor" for one in self.in_query) or len(self.results) != 1:
            return None
        schema = document.resolved(self.results[0] or {})
        properties = schema.get("properties", {})
        return properties["items"]["items"] if "nextCursor" in properties else None


class Document:
    def __init__(self, document: dict[str, Any]):
        self.title: str = document["info"]["title"]
        self.version: str = document["info"]["version"]
        self.schemas: dict[str, Any] = document["components"]["schemas"]
        self.paths: dict[str, Any] = document["paths"]

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        name = reference(schema)
        return self.schemas[name] if name else schema

    def operations(self) -> Iterator[Operation]:
        found = [
            self._operation(path, method, one)
            for path, item in self.paths.items()
            for method, one in item.items()
        ]
        return iter(sorted(found, key=lambda operation: operation.id))

    def _operation(self, path: str, method: str, one: dict[str, Any]) -> Operation:
        contents = one.get("requestBody", {}).get("content", {})
        kind = JSON if JSON in contents else next(iter(contents), None)
        successes = [response for status, response in one["responses"].items() if status.startswith("2")]
        results: list[dict[str, Any] | None] = []
        for response in successes:
            content = response.get("content")
            schema = next(iter(content.values()))["schema"] if content else None
            if schema not in results:
                results.append(schema)
        kinds = {kind for response in successes for kind in response.get("content", {JSON: None})}
        return Operation(
            id=one["operationId"],
            method=method.upper(),
            path=path,
            summary=one["summary"],
            parameters=[
                Parameter(
                    item["name"], item["in"], item.get("required", False), item["schema"], item.get("description", "")
                )
                for item in one.get("parameters", [])
            ],
            body=contents[kind]["schema"] if kind else None,
            body_type=kind,
            body_required=one.get("requestBody", {}).get("required", False),
            results=results,
            is_json=kinds == {JSON},
        )


def reference(schema: dict[str, Any]) -> str | None:
    name = schema.get("$ref")
    return name.rsplit("/", 1)[1] if name else None


def types(schema: dict[str, Any]) -> list[str]:
    found = schema.get("type", [])
    return found if isinstance(found, list) else [found]


def words(name: str) -> list[str]:
    """`nextRunAt` as `next`, `run`, `at`."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)]
