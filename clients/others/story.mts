// A story with openapi-fetch and the types that openapi-typescript generates: `node story.mjs URL KEY`, on a sandbox. The compiler
// checks every request against the document.

import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

declare const process: { argv: string[] };

function check(holds: unknown, what: unknown): asserts holds {
  if (!holds) throw new Error(`it is otherwise: ${JSON.stringify(what)}`);
}

const [, , baseUrl, key] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

const list = await client.PUT("/api/v1/lists/{name}", {
  params: { path: { name: "fetched" } },
  body: { type: "memory", targets: ["ann"] },
});
check(list.data?.targets[0] === "ann", list);

const wanted = { id: crypto.randomUUID(), list: "fetched", subject: "S", body: "B" };
const first = await client.POST("/api/v1/notifications", { body: wanted });
check(first.response.status === 201 && first.data && "id" in first.data, first);
const again = await client.POST("/api/v1/notifications", { body: wanted });
check(again.response.status === 200 && again.data && "id" in again.data, again);
const many = await client.POST("/api/v1/notifications", { body: [wanted] });
check(many.data && "items" in many.data && many.data.items[0]?.outcome === "unchanged", many);

const found = await client.GET("/api/v1/notifications", { params: { query: { list: "fetched" } } });
check(found.data?.items.length === 1, found);
const refused = await client.POST("/api/v1/notifications", { body: { list: "fetched", subject: "S" } });
check(refused.error?.code === "missing_field", refused);

console.log("the story of a generated TypeScript client ends here");
