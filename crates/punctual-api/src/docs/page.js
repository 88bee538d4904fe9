// Lists the operations of /openapi.json by tag, with their shapes, and sends them with the key that was typed in.
// Everything from the document becomes text nodes, never markup.
"use strict";

const VERBS = ["get", "post", "put", "patch", "delete"];

function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

// `code` inside plain text, and paragraphs; nothing else of Markdown is used.
function prose(text) {
  return (text || "").split(/\n\n+/).filter(Boolean).map((paragraph) =>
    el("p", {}, paragraph.replaceAll("\n", " ").split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part))));
}

const nameOf = (schema) => schema?.$ref?.split("/").pop();
const follow = (schema, api) => (schema?.$ref ? api.components.schemas[nameOf(schema)] : schema) || {};

// A reference or null is written as one of two; readers want the reference.
function plain(schema) {
  const options = schema?.oneOf || schema?.anyOf;
  const real = options?.filter((option) => option.type !== "null");
  return real?.length === 1 ? real[0] : schema;
}

function typeOf(schema) {
  schema = plain(schema) || {};
  if (schema.$ref) return nameOf(schema);
  const type = [schema.type].flat().filter((one) => one && one !== "null").join(" or ");
  if (type === "array") return `${typeOf(schema.items)}[]`;
  return schema.enum ? schema.enum.map((value) => JSON.stringify(value)).join(" | ")
    : schema.format ? `${type} (${schema.format})` : type || "any";
}

// The fields of a schema, those of its parts included.
function fieldsOf(schema, api) {
  const whole = follow(plain(schema), api);
  const parts = [whole, ...(whole.allOf || [])].map((part) => follow(part, api));
  const properties = Object.assign({}, ...parts.map((part) => part.properties || {}));
  return { whole, properties, required: new Set(parts.flatMap((part) => part.required || [])) };
}

function shape(schema, api, depth = 0) {
  if (!schema) return null;
  const item = plain(schema)?.type === "array" ? schema.items : schema;
  const { whole, properties, required } = fieldsOf(item, api);
  const rows = Object.entries(properties).map(([name, property]) => {
    const inner = plain(property);
    const target = inner?.type === "array" ? inner.items : inner;
    const nested = depth < 4 && target?.$ref && Object.keys(fieldsOf(target, api).properties).length
      ? el("details", { class: "inner" }, el("summary", {}, nameOf(target)), shape(target, api, depth + 1)) : null;
    return el("tr", {}, el("td", { class: required.has(name) ? "required" : "" }, name), el("td", { class: "type" }, typeOf(property)),
      el("td", {}, prose(property.description || follow(inner, api).description), nested));
  });
  const choice = !rows.length && whole.oneOf ? whole.oneOf.map((option) => el("div", { class: "inner" }, shape(option, api, depth + 1))) : null;
  const words = whole.enum ? el("p", { class: "type" }, whole.enum.join(" · ")) : null;
  return el("div", {}, depth ? null : prose(whole.description), words, choice, rows.length ? el("table", {}, rows) : null);
}

// A body to start from: what is required, with examples.
function example(schema, api, depth = 0) {
  schema = plain(schema) || {};
  const whole = follow(schema, api);
  const given = schema.example ?? whole.example ?? whole.default;
  if (given !== undefined) return given;
  if (whole.enum) return whole.enum[0];
  const type = [whole.type].flat().find((one) => one !== "null");
  if (type === "array") return depth > 3 ? [] : [example(whole.items, api, depth + 1)];
  if (type === "string") return whole.format === "date-time" ? new Date(Date.now() + 3600e3).toISOString() : "";
  if (type === "integer" || type === "number") return 1;
  if (type === "boolean") return false;
  const { properties, required } = fieldsOf(schema, api);
  if (!Object.keys(properties).length && whole.oneOf) return example(whole.oneOf[0], api, depth + 1);
  return Object.fromEntries(Object.entries(properties).filter(([name]) => required.has(name))
    .map(([name, property]) => [name, depth > 3 ? null : example(property, api, depth + 1)]));
}

function tryIt(verb, path, operation, api) {
  const parameters = (operation.parameters || []).map((parameter) => {
    const input = el("input", { placeholder: parameter.example ?? (parameter.required ? "required" : "") });
    return { parameter, input, row: el("label", {}, el("span", {}, `${parameter.name} (${parameter.in})`), input) };
  });
  const content = Object.values(operation.requestBody?.content || {})[0];
  const body = content ? el("textarea", { spellcheck: "false", "aria-label": "Body" }) : null;
  if (body) body.value = JSON.stringify(content.example ?? example(content.schema, api), null, 2);
  const status = el("span", { class: "status", role: "status" });
  const answer = el("pre", { hidden: true });
  const send = async () => {
    const query = new URLSearchParams();
    const headers = {};
    let address = path;
    for (const { parameter, input } of parameters) {
      if (!input.value) continue;
      if (parameter.in === "path") address = address.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
      else if (parameter.in === "query") query.set(parameter.name, input.value);
      else headers[parameter.name] = input.value;
    }
    const key = document.getElementById("key").value.trim();
    if (key) headers.Authorization = `Bearer ${key}`;
    if (body?.value.trim()) headers["Content-Type"] = "application/json";
    const started = performance.now();
    try {
      const reply = await fetch(query.size ? `${address}?${query}` : address,
        { method: verb.toUpperCase(), headers, body: body?.value.trim() || undefined });
      const text = await reply.text();
      status.textContent = `${reply.status} ${reply.statusText} · ${Math.round(performance.now() - started)} ms`;
      status.className = `status ${reply.ok ? "good" : "bad"}`;
      try { answer.textContent = JSON.stringify(JSON.parse(text), null, 2); } catch { answer.textContent = text; }
    } catch (error) {
      status.textContent = String(error);
      status.className = "status bad";
      answer.textContent = "";
    }
    answer.hidden = !answer.textContent;
  };
  return el("div", { class: "try" }, parameters.map(({ row }) => row), body, el("button", { type: "button", onclick: send }, "Send"), status, answer);
}

function section(title, ...content) {
  return content.flat().some(Boolean) ? [el("h3", {}, title), ...content] : [];
}

function describe(verb, path, operation, api) {
  const scopes = (operation.security || []).flatMap((one) => one.key || []);
  const parameters = operation.parameters?.length ? el("table", {}, operation.parameters.map((parameter) =>
    el("tr", {}, el("td", { class: parameter.required ? "required" : "" }, parameter.name),
      el("td", { class: "type" }, `${typeOf(parameter.schema)} · ${parameter.in}`), el("td", {}, prose(parameter.description))))) : null;
  const content = Object.values(operation.requestBody?.content || {})[0];
  const responses = Object.entries(operation.responses).filter(([code]) => code !== "default").map(([code, response]) => {
    const schema = Object.values(response.content || {})[0]?.schema;
    return el("details", { class: "inner" }, el("summary", {}, `${code} ${schema ? typeOf(schema) : ""}`), shape(schema, api));
  });
  return [
    ...prose(operation.description),
    el("p", {}, scopes.length ? el("span", { class: "scope" }, `scope ${scopes.join(" or ")}`) : el("span", { class: "scope" }, "no key needed")),
    ...section("Parameters", parameters),
    ...section("Body", content ? shape(content.schema, api) : null),
    ...section("Answers", responses),
    tryIt(verb, path, operation, api),
  ];
}

function render(api) {
  document.getElementById("about").append(...prose(api.info.description));
  const menu = document.getElementById("menu");
  const operations = document.getElementById("operations");
  const all = [];
  for (const tag of api.tags) {
    const group = el("section", {}, el("h2", {}, tag.name), el("p", {}, tag.description || ""));
    const links = el("div", {}, el("h2", {}, tag.name));
    for (const [path, item] of Object.entries(api.paths)) {
      for (const verb of VERBS.filter((verb) => item[verb]?.tags?.includes(tag.name))) {
        const operation = item[verb];
        const id = `${verb}${path.replaceAll(/[^a-z0-9]+/gi, "-")}`;
        const details = el("details", { class: "operation", id },
          el("summary", {}, el("span", { class: `verb ${verb}` }, verb.toUpperCase()), el("span", { class: "path" }, path),
            el("span", { class: "what" }, operation.summary || "")));
        // Shapes are long: they are made when somebody looks.
        details.addEventListener("toggle", () => {
          if (details.open && details.children.length === 1) details.append(el("div", { class: "inside" }, describe(verb, path, operation, api)));
        });
        const link = el("a", { href: `#${id}`, onclick: () => { details.open = true; } },
          el("span", { class: `verb ${verb}` }, verb.toUpperCase()), path.replace("/api/v1", ""));
        group.append(details);
        links.append(link);
        all.push({ text: `${verb} ${path} ${operation.summary}`.toLowerCase(), details, link, group, links });
      }
    }
    operations.append(group);
    menu.append(links);
  }
  document.getElementById("search").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const one of all) one.details.hidden = one.link.hidden = !words.every((word) => one.text.includes(word));
    for (const { group, links } of all) group.hidden = links.hidden = all.every((one) => one.group !== group || one.link.hidden);
  });
  const opened = document.getElementById(location.hash.slice(1));
  if (opened) { opened.open = true; opened.scrollIntoView(); }
}

const key = document.getElementById("key");
key.value = sessionStorage.getItem("key") || "";
key.addEventListener("input", () => sessionStorage.setItem("key", key.value));
fetch("/openapi.json").then((reply) => reply.json()).then(render)
  .catch((error) => document.getElementById("about").append(el("p", {}, `The document cannot be read: ${error}`)));
