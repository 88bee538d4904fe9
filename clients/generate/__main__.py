"""Writes the generated parts of the clients from docs/openapi.json.

    python clients/generate            writes them
    python clients/generate --check    says whether they are up to date
"""

import json
import sys
from pathlib import Path

import python
import rust
import typescript
from document import Document

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    document = Document(json.loads((ROOT / "docs/openapi.json").read_text()))
    clients = ROOT / "clients"
    wanted = {
        clients / "python/punctual_client/_models.py": python.models(document),
        clients / "python/punctual_client/_operations.py": python.operations(document),
        clients / "typescript/src/models.ts": typescript.models(document),
        clients / "typescript/src/operations.ts": typescript.operations(document),
        ROOT / "crates/punctual-client/src/operations.rs": rust.operations(
            document, rust.Wire(ROOT / "crates/punctual-wire/src")
        ),
    }
    if "--check" not in sys.argv:
        for path, text in wanted.items():
            path.write_text(text)
        return 0
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is out of date; run `python clients/generate`")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
