// The public page of a survey: shows and hides questions as they are answered, the same way as the server decides, asks
// one group at a time on a phone, and says that somebody sees the page. Without it the page works too.
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
    if (text === "") return undefined;
    return kind === "number" ? number(text) : text;
  };

  // What follows, down to `matches`, decides as the server does; a test compares the two.
  const number = (text) => {
    const plain = text.replaceAll(",", ".");
    if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(plain)) return plain;
    const value = Number(plain);
    if (!Number.isFinite(value)) return plain;
    return /[.eE]/.test(plain) && Number.isInteger(value) && Math.abs(value) < 1e16 ? value.toFixed(1) : String(value);
  };
  // By code points, as UTF-8 is ordered.
  const compare = (a, b) => {
    const [x, y] = [[...a], [...b]];
    const at = x.findIndex((c, n) => c !== y[n]);
    if (at < 0) return Math.sign(x.length - y.length);
    return at >= y.length ? 1 : Math.sign(x[at].codePointAt(0) - y[at].codePointAt(0));
  };
  const isNumber = (text) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);
  const order = (found, wanted) => {
    if (Array.isArray(found) || found === undefined) return undefined;
    const [a, b] = [String(found), String(wanted)];
    if (typeof wanted !== "boolean" && isNumber(a) && isNumber(b)) return Math.sign(Number(a) - Number(b));
    return compare(a, b);
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

  // On a phone neighbours of one group share a screen, and a question without a group has its own.
  const phone = window.matchMedia("(max-width: 40rem)");
  const steps = document.querySelector(".steps");
  const submit = form && form.querySelector("button[type=submit]");
  let current = null;
  const screens = () => {
    const found = [];
    for (const question of questions.filter((one) => !one.hidden)) {
      const last = found[found.length - 1];
      const group = question.dataset.group;
      if (last && group && last[0].dataset.group === group) last.push(question);
      else found.push([question]);
    }
    return found;
  };
  const show = () => {
    const found = screens();
    const stepping = phone.matches && found.length > 1;
    const at = Math.max(0, found.findIndex((screen) => screen.includes(current)));
    for (const [number, screen] of found.entries()) {
      for (const question of screen) question.classList.toggle("later", stepping && number !== at);
    }
    const isLast = !stepping || at === found.length - 1;
    steps.hidden = !stepping;
    steps.querySelector(".back").disabled = at === 0;
    steps.querySelector(".next").hidden = isLast;
    steps.querySelector(".place").textContent = `${at + 1} / ${found.length}`;
    submit.hidden = !isLast;
    return { found, at, isLast };
  };
  const go = (by) => {
    const { found, at } = show();
    if (by > 0) {
      const missing = found[at].filter((one) => "required" in one.dataset && answerOf(one) === undefined);
      for (const question of missing) {
        if (question.querySelector(".error")) continue;
        const error = document.createElement("p");
        error.className = "error own";
        error.textContent = form.dataset.please;
        question.querySelector("legend").after(error);
        question.classList.add("wrong");
      }
      if (missing.length) {
        missing[0].querySelector("input, textarea").focus();
        return;
      }
    }
    const screen = found[at + by];
    if (!screen) return;
    current = screen[0];
    show();
    window.scrollTo(0, 0);
    const first = current.querySelector("input:checked, input, textarea");
    if (first) first.focus({ preventScroll: true });
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
        const own = question.querySelector(".error.own");
        if (own) {
          own.remove();
          question.classList.remove("wrong");
        }
      }
    }
    form.elements.shown.value = shown.join(",");
    const bar = document.querySelector(".progress");
    bar.hidden = false;
    bar.firstElementChild.style.transform = `scaleX(${shown.length ? answered / shown.length : 0})`;
    show();
  };

  if (form) {
    const wrong = document.querySelector(".question.wrong input, .question.wrong textarea") || document.getElementById("notice");
    current = wrong ? wrong.closest(".question") : questions[0];
    update();
    form.addEventListener("input", update);
    phone.addEventListener("change", show);
    steps.querySelector(".next").addEventListener("click", () => go(1));
    steps.querySelector(".back").addEventListener("click", () => go(-1));
    form.addEventListener("submit", (event) => {
      // The key that sends a form goes on while there is more to ask.
      if (!show().isLast) {
        event.preventDefault();
        go(1);
        return;
      }
      submit.disabled = true;
    });
    window.addEventListener("pageshow", () => { submit.disabled = false; });
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
