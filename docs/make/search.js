// The search: names first, then pages that contain all terms. INDEX (index.js) has entries [title, address, kind, summary, text].
"use strict";
(() => {
  const field = document.getElementById("search");
  const list = document.getElementById("found");
  const most = 20;
  const entries = INDEX.map(([title, address, kind, summary, text]) =>
    ({ title, address, kind, summary, name: title.toLowerCase(), text: `${title} ${summary} ${text}`.toLowerCase() }));
  let shown = [], at = -1;

  // Smaller is better: the complete name, a prefix, the prefix of a part, a substring; then the text.
  function rank(entry, terms, whole) {
    if (entry.name === whole) return 0;
    if (entry.name.startsWith(whole) || entry.name.startsWith(`holdall_${whole}`)) return 1;
    const inName = terms.every(term => entry.name.includes(term));
    if (inName && terms.every(term => entry.name.split(/[_\s]/).some(part => part.startsWith(term)))) return 2;
    if (inName) return 3;
    if (terms.every(term => entry.text.includes(term))) return entry.text.includes(whole) ? 4 : 5;
    return Infinity;
  }

  function find(query) {
    const whole = query.trim().toLowerCase(), terms = whole.split(/[\s()]+/).filter(Boolean);
    if (!terms.length) return [];
    return entries.map(entry => ({ entry, rank: rank(entry, terms, whole.replace(/\(\)$/, "")) }))
      .filter(one => one.rank < Infinity)
      .sort((a, b) => a.rank - b.rank || a.entry.name.length - b.entry.name.length || a.entry.name.localeCompare(b.entry.name))
      .slice(0, most).map(one => one.entry);
  }

  function show() {
    shown = find(field.value);
    at = shown.length ? 0 : -1;
    list.replaceChildren(...shown.map(row));
    if (!shown.length && field.value.trim()) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = "No page contains all of these terms.";
      list.append(none);
    }
    list.hidden = !field.value.trim();
    field.setAttribute("aria-expanded", String(!list.hidden));
    mark();
  }

  function row(entry, i) {
    const item = document.createElement("li"), link = document.createElement("a");
    const kind = document.createElement("span"), summary = document.createElement("small");
    item.id = `found-${i}`;
    item.setAttribute("role", "option");
    link.href = entry.address;
    link.tabIndex = -1;
    link.append(entry.title);
    kind.textContent = entry.kind;
    summary.textContent = entry.summary;
    link.append(kind, summary);
    item.append(link);
    return item;
  }

  function mark() {
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    if (at >= 0) {
      field.setAttribute("aria-activedescendant", `found-${at}`);
      list.children[at].scrollIntoView({ block: "nearest" });
    }
  }

  function close() {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
  }

  field.addEventListener("input", show);
  field.addEventListener("focus", () => field.value && show());
  field.addEventListener("keydown", event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && shown.length) {
      at = (at + step + shown.length) % shown.length;
      mark();
      event.preventDefault();
    } else if (event.key === "Enter" && at >= 0) {
      location.href = shown[at].address;
      close();
    } else if (event.key === "Escape") {
      close();
    }
  });
  list.addEventListener("click", close);
  document.addEventListener("click", event => event.target.closest("search") || close());
  document.addEventListener("keydown", event => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      field.focus();
      event.preventDefault();
    }
  });
})();
