// The public page of a survey: shows and hides questions as they are answered, the same way as the server decides, and
// says that somebody sees the page. Without it the page works too.
"use strict";
(() => {
  const main = document.querySelector("main");
  const form = document.querySelector("form");
  const questions = [...document.querySelectorAll("[data-question]")];

  const answerOf = (question) => {
    const inputs = [...question.querySelectorAll("input, textarea")];
    const kind = question.dataset.kind;
    const chosen = inputs.filter((input) => input.checked).map((input) => input.value);
    if (kind === "many") return chosen.length ? chosen : undefined;
    if (kind === "one" || kind === "scale") return chosen[0];
    const text = inputs[0].value.trim();
    return text === "" ? undefined : text;
  };

  const isNumber = (text) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);
  const order = (found, wanted) => {
    if (Array.isArray(found) || found === undefined) return undefined;
    const [a, b] = [String(found), String(wanted)];
    if (typeof wanted !== "boolean" && isNumber(a) && isNumber(b)) return Math.sign(Number(a) - Number(b));
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const test = (found, op, wanted) => {
    const values = Array.isArray(wanted) ? wanted : [wanted];
    const any = (is) => values.some((value) => { const o = order(found, value); return o !== undefined && is(o); });
    const text = (is) => typeof found === "string" && values.some((value) => is(found, String(value)));
    switch (op) {
      case "==": case "in": return any((o) => o === 0);
      case "!=": case "notIn": return !any((o) => o === 0);
      case "<": return any((o) => o < 0);
      case "<=": return any((o) => o <= 0);
      case ">": return any((o) => o > 0);
      case ">=": return any((o) => o >= 0);
      case "contains": return Array.isArray(found) ? found.some((item) => test(item, "==", wanted)) : text((a, b) => a.includes(b));
      case "startsWith": return text((a, b) => a.startsWith(b));
      case "endsWith": return text((a, b) => a.endsWith(b));
      case "exists": return found !== undefined;
      case "notExists": return found === undefined;
      default: return false;
    }
  };
  const matches = (filter, known) => {
    if (filter.all) return filter.all.every((one) => matches(one, known));
    if (filter.any) return filter.any.some((one) => matches(one, known));
    if (filter.not) return !matches(filter.not, known);
    return test(known.get(filter.questionId), filter.op, filter.value);
  };

  const update = () => {
    const known = new Map();
    const shown = [];
    let answered = 0;
    for (const question of questions) {
      const { show, skip } = question.dataset;
      const isShown = (!show || matches(JSON.parse(show), known)) && !(skip && matches(JSON.parse(skip), known));
      question.hidden = !isShown;
      question.disabled = !isShown;
      if (!isShown) continue;
      shown.push(question.dataset.question);
      const answer = answerOf(question);
      if (answer !== undefined) {
        known.set(question.dataset.question, answer);
        answered += 1;
      }
    }
    form.elements.shown.value = shown.join(",");
    const bar = document.querySelector(".progress");
    bar.hidden = false;
    bar.firstElementChild.style.transform = `scaleX(${shown.length ? answered / shown.length : 0})`;
  };

  if (form) {
    update();
    form.addEventListener("input", update);
    form.addEventListener("submit", () => { form.querySelector("button").disabled = true; });
    window.addEventListener("pageshow", () => { form.querySelector("button").disabled = false; });
    const wrong = document.querySelector(".question.wrong input, .question.wrong textarea") || document.getElementById("notice");
    if (wrong) wrong.focus();
  }
  const opened = () => {
    if (document.visibilityState !== "visible") return;
    document.removeEventListener("visibilitychange", opened);
    fetch(main.dataset.opened, { method: "POST", keepalive: true }).catch(() => {});
  };
  if (main.dataset.opened) {
    document.addEventListener("visibilitychange", opened);
    opened();
  }
})();
