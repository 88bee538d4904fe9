// What people do with the client, against a server: `node story.mjs PATH-OF-THE-BUILT-CLIENT URL KEY`, on a sandbox.

import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const [, , built, baseUrl, key] = process.argv;
const { Client, InvalidWebhook, Problem, Unreachable, verifyWebhook } = await import(built);

async function story() {
  const client = new Client({ baseUrl, key });
  await client.putList("typescript", { type: "memory", targets: ["ann", "ben"] });
  const ids = [];
  for (let number = 0; number < 7; number += 1) {
    const accepted = await client.createNotification({ list: "typescript", subject: `Nr ${number}`, body: "B" });
    ids.push(accepted.id);
  }
  await client.putSandboxClock({ advance: "1m" });
  assert.equal((await client.getNotification(ids[0])).status, "delivered");

  const listed = [];
  for await (const one of client.eachNotifications({ list: "typescript", limit: 3 })) listed.push(one.id);
  assert.deepEqual(listed.sort(), ids.sort());

  const again = { id: randomUUID(), list: "typescript", subject: "S", body: "B" };
  assert.deepEqual(await client.createNotification(again), await client.createNotification(again));
  const batch = await client.createNotification([again, { ...again, id: randomUUID() }]);
  assert.deepEqual(batch.items.map((item) => item.outcome), ["unchanged", "created"]);

  const once = { idempotencyKey: randomUUID() };
  const plain = { list: "typescript", subject: "Once", body: "B" };
  assert.deepEqual(await client.createNotification(plain, once), await client.createNotification(plain, once));

  const file = await client.createBlob(new Uint8Array([0x25, 0x50, 0, 0xff]), { contentType: "application/pdf" });
  assert.deepEqual([file.size, file.contentType], [4, "application/pdf"]);

  const refused = (error) => error instanceof Problem && error.status === 422 && error.code === "missing_field" && error.errors[0].pointer === "/body" && error.message.startsWith("422 missing_field at /body: ");
  await assert.rejects(client.createNotification({ list: "typescript", subject: "S" }), refused);
  await assert.rejects(client.getNotification(randomUUID()), (error) => error instanceof Problem && error.status === 404);
  const stranger = new Client({ baseUrl, key: "a-wrong-key" });
  await assert.rejects(stranger.listWork(), (error) => error instanceof Problem && error.status === 401);
  assert.equal(await client.deleteList("typescript"), undefined);
}

/** A server that is not ready at first, and one that never answers. */
async function retries() {
  const seen = [];
  const server = createServer((request, response) => {
    request.resume();
    seen.push(request.headers["idempotency-key"]);
    const ready = seen.length === 3;
    response.writeHead(ready ? 201 : 503, { "retry-after": "2", "content-type": "application/json" });
    response.end(ready ? '{"id": "1", "status": "pending"}' : '{"code": "storage_unavailable"}');
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const pauses = [];
  const sleep = async (milliseconds) => void pauses.push(milliseconds);
  const client = new Client({ baseUrl: `http://127.0.0.1:${server.address().port}`, key: "k", sleep });
  assert.deepEqual(await client.createNotification({ list: "l", subject: "S", body: "B" }), { id: "1", status: "pending" });
  assert.equal(seen.length, 3);
  assert.equal(new Set(seen).size, 1);
  assert.deepEqual(pauses, [2000, 2000]);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  pauses.length = 0;
  await assert.rejects(client.listWork(), Unreachable);
  assert.equal(pauses.length, 4);
  pauses.length = 0;
  await assert.rejects(client.updateSchedule("1", { runAt: "2031-05-14T07:00:00Z" }), Unreachable);
  assert.equal(pauses.length, 0);
}

/** What no attempt could get past is refused at once, in words that say what is right. */
async function mistakes() {
  const pauses = [];
  const sleep = async (milliseconds) => void pauses.push(milliseconds);
  for (const wrong of ["127.0.0.1:8080", "ftp://127.0.0.1", "https://", "http://127.0.0.1/?a=b", ""]) {
    assert.throws(() => new Client({ baseUrl: wrong, key, sleep }), /baseUrl is such as/);
  }
  for (const wrong of ["…", "a key", "key\n", ""]) {
    assert.throws(() => new Client({ baseUrl, key: wrong, sleep }), /key is one word/);
  }
  const client = new Client({ baseUrl, key, sleep });
  for (const wrong of ["", ".", "..", undefined]) await assert.rejects(client.getList(wrong), /^TypeError: name is "/);
  const elsewhere = new Client({ baseUrl: `${baseUrl}/elsewhere`, key, sleep });
  await assert.rejects(elsewhere.listWork(), (error) => error instanceof Problem && error.status === 404);
  assert.deepEqual(pauses, [], "none of it was tried again");
}

/** A proxy that asks people to sign in, one that redirects, and an answer that breaks off. */
async function strangers() {
  const server = createServer((request, response) => {
    if (request.url.startsWith("/page")) return void response.end("<html>");
    if (request.url.startsWith("/moved")) return void response.writeHead(301, { location: "https://other.example/" }).end();
    response.writeHead(200, { "content-length": "600" });
    response.write("{", () => response.destroy());
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const pauses = [];
  const sleep = async (milliseconds) => void pauses.push(milliseconds);
  const at = (path) => new Client({ baseUrl: `http://127.0.0.1:${server.address().port}${path}`, key: "k", sleep });
  await assert.rejects(at("/page").listWork(), /no answer of Punctual: <html>/);
  await assert.rejects(at("/moved").listWork(), /should lead to https:\/\/other.example/);
  assert.deepEqual(pauses, [], "it would be the same again");
  await assert.rejects(at("/short").listWork(), Unreachable);
  assert.equal(pauses.length, 4);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** A changed byte, another secret and another time are refused. */
async function webhooks() {
  const raw = Buffer.from("0123456789abcdef0123456789abcdef");
  const secret = `whsec_${raw.toString("base64")}`;
  const body = JSON.stringify({ type: "response-completed", text: "grüße" });
  const at = Math.floor(Date.now() / 1000);
  const signature = createHmac("sha256", raw).update(`msg_1.${at}.${body}`).digest("base64");
  const headers = { "webhook-id": "msg_1", "webhook-timestamp": String(at), "webhook-signature": `v1,AAAA v1,${signature}` };
  assert.deepEqual(await verifyWebhook(body, headers, secret), JSON.parse(body));
  assert.deepEqual(await verifyWebhook(Buffer.from(body), headers, secret), JSON.parse(body));
  const other = `whsec_${Buffer.from("another").toString("base64")}`;
  await assert.rejects(verifyWebhook(`${body} `, headers, secret), InvalidWebhook);
  await assert.rejects(verifyWebhook(body, headers, other), InvalidWebhook);
  await assert.rejects(verifyWebhook(body, headers, secret, at + 600), InvalidWebhook);
  await assert.rejects(verifyWebhook(body, {}, secret), InvalidWebhook);
}

await webhooks();
await retries();
await strangers();
await mistakes();
await story();
console.log("the story of the TypeScript client ends here");
