/** How far the time of a message may be from ours, in seconds: an old one may be a copy. */
const TOLERANCE = 300;

/** It is not signed with this secret, or not now. */
export class InvalidWebhook extends Error {
  override readonly name = "InvalidWebhook";
}

/**
 * The body of a webhook as JSON, if its signature is right (Standard Webhooks, https://www.standardwebhooks.com).
 *
 * `body` is what arrived, as text. `secret` is that of the channel or subscriber, `whsec_…`.
 */
export async function verifyWebhook(
  body: string,
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
  const key = await crypto.subtle.importKey("raw", bytes(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signed = new TextEncoder().encode(`${id}.${sent}.${body}`);
  // While a secret is changed there is one signature for each.
  for (const signature of signatures.split(" ")) {
    const [version, text] = signature.split(",");
    if (version !== "v1" || text === undefined) continue;
    if (await crypto.subtle.verify("HMAC", key, bytes(text), signed)) return JSON.parse(body);
  }
  throw new InvalidWebhook("the signature is not that of this secret");
}

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    throw new InvalidWebhook("what should be base64 is not");
  }
}
