import { Operations } from "./operations.js";

/**
 * Every operation of the API: `createNotification`, `listWork`, `eachWork` and so on.
 *
 * A request that may have failed on its way is repeated, with growing pauses and, for POST, under one idempotency key, so
 * that it takes effect once. What the server refuses is thrown as a `Problem`.
 */
export class Client extends Operations {}

export type * as models from "./models.js";
export { Problem, Unreachable } from "./problem.js";
export type { ClientOptions, PostOptions, RawBody } from "./transport.js";
export { InvalidWebhook, verifyWebhook } from "./webhook.js";
