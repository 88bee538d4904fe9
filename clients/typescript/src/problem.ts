/** What the server refused, and why (problem+json, RFC 9457). */
export class Problem extends Error {
  override readonly name = "Problem";
  /** A stable word that programs may compare, such as `unknown_field`. */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** The places at fault. */
  readonly errors: { pointer: string; code: string; detail: string }[];
  /** What the server's log calls the request. */
  readonly requestId: string | null;

  constructor(
    readonly status: number,
    body: Record<string, unknown>,
  ) {
    const { code, title, detail } = body;
    const errors: { pointer: string; code: string; detail: string }[] = Array.isArray(body.errors) ? body.errors : [];
    // Where, unless it is the whole request: the detail names the field, and not which of many.
    const at = errors[0]?.pointer ? ` at ${errors[0].pointer}` : "";
    super(`${status} ${code ?? "unknown"}${at}: ${detail ?? title ?? ""}`);
    this.code = String(code ?? "unknown");
    this.title = String(title ?? "");
    this.detail = String(detail ?? "");
    this.errors = errors;
    this.requestId = typeof body.requestId === "string" ? body.requestId : null;
  }

  /** Also where a proxy answered in words of its own. */
  static read(status: number, text: string): Problem {
    try {
      const body: unknown = JSON.parse(text);
      if (typeof body === "object" && body !== null) return new Problem(status, body as Record<string, unknown>);
    } catch {
      // It is no JSON.
    }
    return new Problem(status, { detail: `no answer of Punctual: ${text.slice(0, 200)}` });
  }
}

/** No answer came, also not to the last attempt. Whether the request took effect is not known. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}
