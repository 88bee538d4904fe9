// Rules that a script can check on a page: enough contrast, names for what can be used, headers for tables.
(() => {
  const faults = [];
  const shown = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0;
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const paint = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data].map((v) => v / 255);
  };
  const over = (top, below) => [0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3])).concat(1);
  const ground = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [1, 1, 1, 1]);
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const text = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = text.nextNode(); node; node = text.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || !shown(e) || e.closest("[aria-hidden=true], :disabled, .none, .visually-hidden, svg, .gone, datalist, option")) continue;
    const behind = ground(e);
    const ratio = contrast(over(rgba(getComputedStyle(e).color), behind), behind);
    if (ratio < 4.5) faults.push(`contrast ${ratio.toFixed(2)}: ${node.data.trim().slice(0, 40)}`);
  }
  const name = (e) => (e.getAttribute("aria-label") || e.textContent || e.title || "").trim();
  document.querySelectorAll("a, button").forEach((e) => { if (shown(e) && !name(e)) faults.push(`no name: ${e.outerHTML.slice(0, 80)}`); });
  document.querySelectorAll("input:not([type=hidden]), select, textarea").forEach((e) => {
    const label = e.getAttribute("aria-label") || [...(e.labels || [])].map((l) => l.textContent).join("").trim();
    if (shown(e) && !label) faults.push(`no label: ${e.outerHTML.slice(0, 80)}`);
  });
  document.querySelectorAll("table").forEach((e) => { if (!e.querySelector("th[scope]")) faults.push("a table without headers"); });
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  if (!document.documentElement.lang) faults.push("no language");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  ids.filter((id, n) => ids.indexOf(id) !== n).forEach((id) => faults.push(`two of id ${id}`));
  return faults;
})()
