// The console's own script: the keyboard, light and dark, and what is live. Reading works without it.
(() => {
  "use strict";
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const remember = (name, value) => {
    document.cookie = `${name}=${encodeURIComponent(value)}; Path=/; Max-Age=31536000; SameSite=Strict`;
  };

  // The server writes times in the viewer's zone; the browser is the only one that knows it.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const said = document.cookie.split("; ").find((pair) => pair.startsWith("punctual-zone="));
  if (zone && said !== `punctual-zone=${encodeURIComponent(zone)}`) {
    remember("punctual-zone", zone);
    // The very first page was written without it; every other one already has it.
    const shown = $(".zones summary");
    const isKept = document.cookie.includes("punctual-zone=");
    if (!said && isKept && shown && shown.title === "UTC" && zone !== "UTC") location.reload();
  }
  // Every field for a zone offers the names that the browser knows.
  const names = $("#zone-names");
  if (names && Intl.supportedValuesOf) all("#zone, input[name=timeZone], input[name$='/timeZone']").forEach((field) => {
    if (!field.list) field.setAttribute("list", names.id);
    field.addEventListener("focus", () => {
      if (!names.children.length) names.replaceChildren(...Intl.supportedValuesOf("timeZone").map((name) => new Option(name, name)));
    }, { once: true });
  });

  const theme = $("#theme");
  if (theme) {
    theme.hidden = false;
    theme.addEventListener("click", () => {
      const root = document.documentElement;
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      remember("punctual-theme", root.dataset.theme);
    });
  }

  // On a phone the navigation is a strip; the page one is on is to be seen in it.
  const current = $(".side nav a[aria-current]");
  const strip = $(".side nav");
  if (current && strip.scrollWidth > strip.clientWidth) strip.scrollLeft = current.offsetLeft - strip.clientWidth / 2;

  // The same of tabs that go on beyond the edge.
  all("main .tabs").forEach((tabs) => {
    const chosen = $("[aria-current]", tabs);
    if (chosen && tabs.scrollWidth > tabs.clientWidth) tabs.scrollLeft = chosen.offsetLeft - tabs.offsetLeft - tabs.clientWidth / 2 + chosen.offsetWidth / 2;
  });

  // On a phone rows become cards without the heads of their columns: each cell says which one it is of.
  all("table.list, table.lines").forEach((table) => {
    const heads = all("thead th", table).map((head) => head.textContent.trim());
    all("tbody tr", table).forEach((row) => [...row.children].forEach((cell, n) => {
      if (n > 0 && cell.colSpan === 1 && heads[n]) cell.dataset.head = heads[n];
      else if (n === 0 && table.matches(".lines") && heads[0] && cell.colSpan === 1) cell.dataset.head = heads[0];
    }));
  });

  // ---- keyboard ----
  const help = $("#help");
  const openHelp = $("#help-open");
  if (openHelp && help) {
    openHelp.hidden = false;
    openHelp.addEventListener("click", () => help.showModal());
  }
  let here = -1;
  const rows = () => all("[data-row]").filter((row) => row.offsetParent !== null);
  const frameOf = (row) => (row.tagName === "A" ? row.closest("li") || row : row);
  const linkOf = (row) => (row.tagName === "A" ? row : $("a", row));
  const walk = (step) => {
    const list = rows();
    if (!list.length) return;
    all(".here").forEach((row) => row.classList.remove("here"));
    here = Math.min(Math.max(here + step, 0), list.length - 1);
    frameOf(list[here]).classList.add("here");
    const link = linkOf(list[here]);
    if (link) link.focus({ preventScroll: true });
    frameOf(list[here]).scrollIntoView({ block: "nearest" });
  };
  let going = false;
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
    if (event.key === "Escape" && typing && !(palette && palette.open)) return typing.blur();
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return openPalette();
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || (help && help.open) || (palette && palette.open)) return;
    if (going) {
      going = false;
      const entry = all(".side nav a")[Number(event.key) - 1];
      if (entry) return entry.click();
    }
    const search = $("#search");
    switch (event.key) {
      case "/":
        event.preventDefault();
        if (search) { search.focus(); search.select(); } else openPalette();
        break;
      case "j": walk(1); break;
      case "k": walk(-1); break;
      case "g": going = true; break;
      case "?": if (help) help.showModal(); break;
      case "Enter":
        if (here >= 0 && event.target === document.body) { const link = linkOf(rows()[here]); if (link) link.click(); }
        break;
      case "x": {
        const box = here >= 0 && rows()[here] && $("input[name=row]", rows()[here]);
        if (box) box.click();
        break;
      }
    }
  });

  // ---- search ----
  // The palette shows what the page of results would, while one types. The server does the searching.
  const palette = $("#palette");
  const asked = $("#palette-q");
  const matches = $("#palette-list");
  const openPalette = () => {
    if (!palette) { location.href = "/search"; return; }
    if (!palette.open) palette.showModal();
    asked.select();
    look();
  };
  let option = 0;
  const options = () => all("[role=option]", matches);
  const choose = (at) => {
    const list = options();
    option = Math.min(Math.max(at, 0), list.length - 1);
    list.forEach((one, n) => one.setAttribute("aria-selected", String(n === option)));
    if (list[option]) {
      asked.setAttribute("aria-activedescendant", list[option].id);
      list[option].scrollIntoView({ block: "nearest" });
    } else asked.removeAttribute("aria-activedescendant");
  };
  let wanted = 0;
  const look = async () => {
    const turn = ++wanted;
    const answer = await fetch(`/search?q=${encodeURIComponent(asked.value)}`, { headers: { "X-Punctual-Live": "1" } });
    if (!answer.ok || turn !== wanted) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    let n = 0;
    const groups = all("[data-results] section", page).map((section) => {
      const group = document.createElement("div");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", section.getAttribute("aria-label"));
      const head = document.createElement("p");
      head.className = "palette-head";
      head.textContent = section.getAttribute("aria-label");
      group.append(head, ...all("a[data-row]", section).map((link) => {
        link.removeAttribute("data-row");
        link.setAttribute("role", "option");
        link.id = `palette-${n++}`;
        link.tabIndex = -1;
        return link;
      }));
      return group;
    });
    matches.replaceChildren(...groups);
    choose(0);
  };
  if (palette) {
    let typed;
    asked.addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(() => look().catch(() => {}), 120); });
    asked.addEventListener("keydown", (event) => {
      // A search field would only be emptied by it.
      if (event.key === "Escape") { event.preventDefault(); palette.close(); }
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        choose(option + (event.key === "ArrowDown" ? 1 : -1));
      }
    });
    // Enter before anything was chosen goes to the page of results.
    asked.form.addEventListener("submit", (event) => {
      const chosen = options()[option];
      if (chosen) { event.preventDefault(); chosen.click(); }
    });
    const find = $("#find");
    if (find) find.addEventListener("keydown", (event) => { if (event.key === "Escape") find.blur(); });
  }

  // ---- copy ----
  all("[data-copy]").forEach((button) => {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  });

  // ---- selection ----
  const boxes = () => all("input[name=row][type=checkbox]");
  const selectAll = $("#select-all");
  const selected = $("#selected");
  const everything = $("#all-matching");
  const count = () => {
    const chosen = boxes().filter((box) => box.checked).length;
    const whole = Boolean(everything && everything.checked);
    all("#acts button").forEach((button) => { button.disabled = chosen === 0 && !whole; });
    if (selected) {
      selected.hidden = chosen === 0 || whole;
      selected.textContent = `${chosen} selected`;
    }
    if (selectAll) selectAll.checked = chosen > 0 && chosen === boxes().length;
  };
  if (selectAll) {
    selectAll.hidden = false;
    selectAll.addEventListener("change", () => { boxes().forEach((box) => { box.checked = selectAll.checked; }); count(); });
    document.addEventListener("change", (event) => { if (event.target.name === "row" || event.target === everything) count(); });
    count();
  }

  // ---- live ----
  // A change on the server says only that something changed. The page asks for itself again and takes over what
  // differs, in place: nothing that is being read moves, new rows are announced and not inserted.
  const dot = $("#dot");
  if (!dot) return;
  const say = (state, text) => { dot.className = `dot ${state}`; dot.title = text; };
  const leaving = new AbortController();
  const fetchPage = async (address) => {
    const answer = await fetch(address, { headers: { "X-Punctual-Live": "1" }, redirect: "error", signal: leaving.signal });
    if (answer.status === 401) throw new Error("signed out");
    if (answer.status === 204) throw new Error("the answer to a form");
    if (!answer.ok) throw new Error(String(answer.status));
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };
  // The token of a form is spelled differently in each page.
  const plain = (part) => part.innerHTML.replaceAll(/name="token" value="[^"]*"/g, "");
  const take = (now, next, announce) => {
    if (plain(now) === plain(next)) return;
    const focused = now.contains(document.activeElement) && document.activeElement;
    const open = all("details", now).map((details) => details.open);
    now.className = next.className;
    now.replaceChildren(...next.childNodes);
    all("details", now).forEach((details, n) => { details.open = Boolean(open[n]); });
    if (focused) {
      const same = focused.getAttribute("href") && $(`[href="${CSS.escape(focused.getAttribute("href"))}"]`, now);
      if (same) same.focus({ preventScroll: true });
    }
    if (announce) {
      now.classList.remove("changed");
      void now.offsetWidth;
      now.classList.add("changed");
    }
  };
  const takeRow = (row, next) => {
    all("[data-cell]", row).forEach((cell) => {
      const fresh = $(`[data-cell="${cell.dataset.cell}"]`, next);
      if (fresh) take(cell, fresh, cell.dataset.cell === "state");
    });
    const box = $("input[name=row]", row);
    const fresh = $("input[name=row]", next);
    if (box && fresh) box.value = fresh.value;
    else if (box) { box.remove(); count(); }
    row.classList.remove("gone");
  };
  const rowsOf = (page) => new Map(all("tr[data-row]", page).map((row) => [row.dataset.row, row]));
  // What is being pressed is not replaced under the pointer: the click would be lost.
  let pressed = false;
  addEventListener("pointerdown", () => { pressed = true; });
  const ends = ["pointerup", "pointercancel", "blur"];
  ends.forEach((end) => addEventListener(end, () => { pressed = false; }));
  const released = () => new Promise((done) => {
    if (!pressed) { done(); return; }
    // The click comes right after the pointer is up.
    ends.forEach((end) => addEventListener(end, () => setTimeout(done), { once: true }));
  });
  const refresh = async () => {
    const page = await fetchPage(location.href);
    await released();
    all("[data-live]").forEach((part) => {
      const next = $(`[data-live="${CSS.escape(part.dataset.live)}"]`, page);
      if (next) take(part, next, false);
    });
    const table = $("table[data-same]");
    const shown = rowsOf(document);
    const found = rowsOf(page);
    const fresh = [...found.keys()].filter((id) => !shown.has(id)).length;
    const missing = [...shown.keys()].filter((id) => !found.has(id));
    if (missing.length && table && table.dataset.same) {
      rowsOf(await fetchPage(table.dataset.same)).forEach((row, id) => { if (!found.has(id)) found.set(id, row); });
      await released();
    }
    shown.forEach((row, id) => {
      const next = found.get(id);
      if (next) takeRow(row, next);
      else if (table) row.classList.add("gone");
    });
    const bar = $("#fresh");
    if (bar && fresh && (!table || table.hasAttribute("data-first"))) {
      $("a", bar).textContent = fresh === 1 ? "1 new row – show it" : `${fresh} new rows – show them`;
      bar.hidden = false;
    }
  };
  let busy = false;
  let again = false;
  const update = async () => {
    if (leaving.signal.aborted) return;
    if (busy) { again = true; return; }
    busy = true;
    try {
      await refresh();
    } catch (error) {
      if (error.message === "signed out") { say("lost", "Signed out: reload the page"); events.close(); clearInterval(slowly); }
    }
    // A busy outbox changes all the time; once a second is enough for eyes.
    setTimeout(() => { busy = false; if (again) { again = false; update(); } }, 1000);
  };
  const events = new EventSource("/live");
  events.addEventListener("hello", () => say("live", "Live"));
  events.addEventListener("change", update);
  events.addEventListener("error", () => say("lost", "Connection lost; trying again"));
  const slowly = setInterval(() => { if (!document.hidden) update(); }, 15000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) update(); });
  addEventListener("pagehide", () => events.close());
  // Who signs out wants nothing more of the session that ends.
  $("form[action='/sign-out']")?.addEventListener("submit", () => { leaving.abort(); events.close(); clearInterval(slowly); });
})();

// An editor with a preview: what is beside it follows what is written.
(() => {
  const schema = document.querySelector("[data-preview]");
  const button = document.querySelector("[data-preview-button]");
  if (!schema || !button) return;
  // Parts of the page that depend on what is written, as the server would show them.
  const check = async () => {
    const parts = [...document.querySelectorAll("[data-follow]")];
    if (!parts.length) return;
    const answer = await fetch(button.dataset.check, { method: "POST", body: new URLSearchParams(new FormData(button.form)) });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    parts.forEach((part) => {
      const next = page.querySelector(`[data-follow="${CSS.escape(part.dataset.follow)}"]`);
      if (next) part.replaceChildren(...next.childNodes);
    });
  };
  let waiting;
  let written = false;
  const follow = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      button.form.requestSubmit(button);
      if (written) check().catch(() => {});
    }, Number(schema.dataset.preview) || 600);
  };
  schema.addEventListener("input", () => { written = true; follow(); });
  follow();
})();

// A file that is chosen is read into the field that takes its text.
document.querySelectorAll("input[type=file][data-into]").forEach((chooser) => {
  chooser.closest("[hidden]").hidden = false;
  chooser.addEventListener("change", async () => {
    const file = chooser.files[0];
    if (file) chooser.form.elements[chooser.dataset.into].value = await file.text();
  });
});

// Only the fields that apply: `data-when` and `data-only` name a field, and the values for which this one is shown; no values
// mean any.
(() => {
  const parts = [...document.querySelectorAll("[data-when], [data-only]")];
  const form = document.querySelector("form#edit") ?? parts[0]?.closest("form");
  if (!form) return;
  const value = (name) => form.elements[name]?.value ?? "";
  const applies = (condition) => {
    const at = condition.indexOf("=");
    return at < 0 ? value(condition) !== "" : condition.slice(at + 1).split("|").includes(value(condition.slice(0, at)));
  };
  // What has a value or a fault stays visible where it would be sent all the same.
  const filled = (part) => part.querySelector(".fault") || [...part.querySelectorAll("input, textarea")].some((field) => field.value);
  const look = () => parts.forEach((part) => {
    const { when, only } = part.dataset;
    part.hidden = only !== undefined ? !applies(only) : !applies(when) && !filled(part);
  });
  form.addEventListener("input", look);
  look();
  // What else the page offers depends on some fields: it is shown again, with everything that was typed.
  const again = document.querySelector("#show-again");
  if (again) form.addEventListener("change", (event) => {
    const place = event.target.dataset.again;
    if (place === undefined) return;
    again.value = `show ${place}`;
    form.requestSubmit(again);
  });
})();

// People are searched while one types: what the field offers is what the search finds.
(() => {
  let waiting;
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!field.matches?.("[data-person]")) return;
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const typed = field.value;
      if (typed.length < 2) return;
      const answer = await fetch(`/search?q=${encodeURIComponent(typed)}`, { headers: { "X-Punctual-Live": "1" } }).catch(() => null);
      if (!answer?.ok || field.value !== typed) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = [...page.querySelectorAll("[data-results] a[href^='/operations/people/']")];
      found.forEach((link) => {
        const id = decodeURIComponent(link.getAttribute("href").split("/").pop());
        if ([...field.list.options].every((one) => one.value !== id)) field.list.append(new Option(link.querySelector(".item-title").textContent, id));
      });
    }, 200);
  });
})();

// A preview beside an editor follows what is typed.
(() => {
  const button = document.querySelector("[data-follows]");
  const form = button?.form;
  if (!form) return;
  let waiting;
  const follow = () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      if (button.formTarget) return form.requestSubmit(button);
      const body = new URLSearchParams(new FormData(form));
      const answer = await fetch(button.formAction, { method: "POST", body }).catch(() => null);
      if (!answer?.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      document.querySelectorAll("[data-follow]").forEach((part) => {
        const next = page.querySelector(`[data-follow="${CSS.escape(part.dataset.follow)}"]`);
        if (next) part.replaceChildren(...next.childNodes);
      });
    }, 600);
  };
  form.addEventListener("input", follow);
  if (button.formTarget) follow();
})();

// A form that was refused: each fault is tied to its field, a summary above the form names them all, and the first field has
// the focus. Forms that bring all of this themselves are left as they are.
(() => {
  const fields = [...document.querySelectorAll("main form[method=post] [aria-invalid=true]")];
  const faultOf = (field) => (field.closest(".checks-field") ?? field.closest("label, .entry-field, td, li, div"))?.querySelector(".fault");
  const loose = fields.filter((field) => !field.getAttribute("aria-describedby") && faultOf(field));
  if (!loose.length) return;
  const lines = loose.map((field, n) => {
    const fault = faultOf(field);
    fault.id ||= `fault-${n}`;
    field.id ||= `faulty-${n}`;
    field.setAttribute("aria-describedby", fault.id);
    const named = field.closest(".checks-field")?.querySelector("legend")?.textContent.trim() || field.closest("label")?.querySelector("span")?.firstChild?.textContent?.trim() || field.getAttribute("aria-label") || field.name;
    const line = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { href: `#${field.id}`, textContent: named });
    line.append(link, `: ${fault.textContent}`);
    return line;
  });
  const form = loose[0].form;
  const list = Object.assign(document.createElement("ul"), { className: "wrong" });
  list.append(...lines);
  const there = document.querySelector("main .callout[role=alert]");
  if (there) {
    if (!there.querySelector(".wrong, .items")) there.firstElementChild.append(list);
  } else {
    const summary = Object.assign(document.createElement("section"), { className: "callout bad" });
    summary.setAttribute("role", "alert");
    const inner = document.createElement("div");
    inner.append(Object.assign(document.createElement("strong"), { textContent: "Nothing was saved" }), list);
    summary.append(inner);
    form.before(summary);
  }
  // The browser serves `autofocus` before the first frame: whoever focuses earlier is in its way.
  requestAnimationFrame(() => loose[0].focus());
})();
