/** How far the time of a message may be from ours, in seconds: an old one may be a copy. */
const TOLERANCE = 300;

/** It is not signed with this secret, or not now. */
export class InvalidWebhook extends Error {
  override readonly name = "InvalidWebhook";
}

/**
 * The body of a webhook as JSON, if its signature is right (Standard Webhooks, https://www.standardwebhooks.com).
 *
 * `body` is what arrived, byte for byte or as text. `secret` is that of the channel or subscriber, `whsec_…`.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Record<string, string>,
  secret: string,
  now: number = Date.now() / 1000,
): Promise<unknown> {
  const given = headers instanceof Headers ? headers : new Headers(headers);
  const [id, sent, signatures] = ["id", "timestamp", "signature"].map((part) => given.get(`webhook-${part}`));
  if (!id || !sent || !signatures || !/^\d+$/.test(sent)) {
    throw new InvalidWebhook("the headers of a signed webhook are missing");
  }
  if (Math.abs(now - Number(sent)) > TOLERANCE) throw new InvalidWebhook("it was signed at another time");
  const raw = bytes(secret.replace(/^whsec_/, ""));
  if (raw === undefined) throw new InvalidWebhook("the secret is no `whsec_…`");
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${sent}.${text}`);
  // While a secret is changed there is one signature for each.
  for (const signature of signatures.split(" ")) {
    const [version, encoded] = signature.split(",");
    const given = version === "v1" && encoded !== undefined ? bytes(encoded) : undefined;
    if (given !== undefined && (await crypto.subtle.verify("HMAC", key, given, signed))) return json(text);
  }
  throw new InvalidWebhook("the signature is not that of this secret");
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidWebhook("the body is no JSON");
  }
}

function bytes(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}
