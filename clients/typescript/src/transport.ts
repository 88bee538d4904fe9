import { Problem, Unreachable } from "./problem.js";

export interface ClientOptions {
  /** Where the server is, such as `https://punctual.example.org`. */
  baseUrl: string;
  key?: string;
  /** How long one attempt may take, in milliseconds; 30,000 by default. */
  timeout?: number;
  /** How often a request is tried at most; 5 by default. */
  attempts?: number;
  fetch?: typeof globalThis.fetch;
  /** Waits for so many milliseconds. */
  sleep?: (milliseconds: number) => Promise<void>;
}

export interface PostOptions {
  /** Yours, where a repetition comes from elsewhere than this call; else one is made. */
  idempotencyKey?: string;
}

/** A body that is no JSON: text, or bytes such as a `Buffer`. */
export type RawBody = string | ArrayBuffer | ArrayBufferView | globalThis.Blob;

interface Request {
  query?: Record<string, unknown>;
  body?: unknown;
  contentType?: string;
  idempotencyKey?: string | undefined;
}

/** What another attempt may get past: too many requests, or a server that is not ready. */
const RETRIED = new Set([429, 502, 503, 504]);
/** The first pause and the longest, in milliseconds. */
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 20_000;

/** How requests leave: the key, the retries, the pages. */
export class Transport {
  readonly #options: Required<Omit<ClientOptions, "key">> & { key: string | undefined };

  constructor(options: ClientOptions) {
    // What no attempt could get past is said at once.
    if (!/^https?:\/\/[^/?#]+[^?#]*$/.test(options.baseUrl)) {
      throw new TypeError(`baseUrl is such as https://punctual.example.org; it is ${JSON.stringify(options.baseUrl)}`);
    }
    if (options.key !== undefined && !/^[\x21-\x7e]+$/.test(options.key)) {
      throw new TypeError("key is one word of ASCII characters, as Punctual printed it");
    }
    this.#options = {
      baseUrl: options.baseUrl.replace(/\/+$/, ""),
      key: options.key,
      timeout: options.timeout ?? 30_000,
      attempts: Math.max(1, options.attempts ?? 5),
      fetch: options.fetch ?? ((...given) => globalThis.fetch(...given)),
      sleep: options.sleep ?? ((milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))),
    };
  }

  protected async call<T>(method: string, path: string, request: Request = {}): Promise<T> {
    const text = await this.#sent(method, path, request, "application/json", (response) => response.text());
    if (text === "") return undefined as T;
    try {
      return JSON.parse(text) as T;
    } catch {
      // Not Punctual, such as a proxy that asks people to sign in.
      throw Problem.read(200, text);
    }
  }

  protected raw(method: string, path: string, request: Request = {}): Promise<ArrayBuffer> {
    return this.#sent(method, path, request, "*/*", (response) => response.arrayBuffer());
  }

  protected segment(name: string, value: string | number): string {
    const text = String(value ?? "");
    if (["", ".", ".."].includes(text)) {
      throw new TypeError(`${name} is ${JSON.stringify(text)}, which would be another address; it takes an id or name`);
    }
    return encodeURIComponent(text);
  }

  /** The items of all pages; each page is asked for when it is reached. */
  protected async *items<T>(
    page: (cursor: string | undefined) => Promise<{ items: T[]; nextCursor?: string | null }>,
  ): AsyncGenerator<T> {
    let cursor: string | undefined;
    do {
      const found = await page(cursor);
      yield* found.items;
      cursor = found.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** Tries until a whole answer is read; one that breaks off in its body is no answer. */
  async #sent<T>(
    method: string,
    path: string,
    request: Request,
    accept: string,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { key, timeout, attempts, fetch, sleep } = this.#options;
    const headers: Record<string, string> = { accept };
    if (key !== undefined) headers["authorization"] = `Bearer ${key}`;
    // The same for all attempts: whichever arrives first takes effect, the others get its answer.
    if (method === "POST") headers["idempotency-key"] = request.idempotencyKey ?? crypto.randomUUID();
    let body: BodyInit | undefined;
    if (request.body !== undefined) {
      headers["content-type"] = request.contentType ?? "application/json";
      body = request.contentType === undefined ? JSON.stringify(request.body) : (request.body as BodyInit);
    }
    const url = this.#url(path, request.query ?? {});
    for (let attempt = 1; ; attempt += 1) {
      let pause = pauseAfter(attempt);
      try {
        // A key goes to the server that it is meant for and nowhere else.
        const signal = AbortSignal.timeout(timeout);
        const response = await fetch(url, { method, headers, body, signal, redirect: "manual" });
        if (response.ok) return await read(response);
        const location = response.headers.get("location");
        if (response.type === "opaqueredirect" || location !== null) {
          const there = location ?? "another address";
          throw new Problem(response.status, { detail: `redirects are not followed; baseUrl should lead to ${there}` });
        }
        const problem = Problem.read(response.status, await response.text());
        if (!RETRIED.has(response.status) || attempt === attempts) throw problem;
        const asked = response.headers.get("retry-after");
        if (asked !== null && /^\d+$/.test(asked)) pause = Math.min(Number(asked) * 1000, LONGEST_PAUSE);
      } catch (error) {
        // A PATCH that arrived and is sent again might undo what came between.
        if (error instanceof Problem) throw error;
        if (attempt === attempts || method === "PATCH") {
          throw new Unreachable(`${method} ${url}: ${String(error)}`, { cause: error });
        }
      }
      await sleep(pause);
    }
  }

  #url(path: string, query: Record<string, unknown>): string {
    const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
    return this.#options.baseUrl + path + (text === "" ? "" : `?${text}`);
  }
}

/** Twice as long each time, and at random below that, so that clients do not come back together. */
function pauseAfter(attempt: number): number {
  return Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
}
