// Tables of any length, from the JSON in the page: a page of rows at a time, sorted and searched in memory.
// Links between a row and its card, and buttons that copy commands.
"use strict";
const ROWS_A_PAGE = 100;
const ROWS_AT_A_GLANCE = 10;
const SHORT = 28; // letters of a cell that stay on one line
const COPIED_FOR = 2000; // milliseconds
const showRow = {}; // by a card's id: brings its row into view

function show(place) {
  const data = JSON.parse(document.getElementById(place.dataset.table).textContent);
  const texts = data.rows.map((row) => row.join("\u0000").toLowerCase());
  const short = data.columns.map((_, number) => data.rows.every((row) => String(row[number] ?? "").length <= SHORT));
  const state = { order: data.rows.map((_, number) => number), column: -1, falling: false, page: 0, words: "" };
  const table = element("table");
  table.setAttribute("aria-label", data.title);
  const head = table.createTHead().insertRow();
  const body = table.createTBody();
  data.columns.forEach((column, number) => {
    const cell = element("th", data.numbers.includes(number) ? "number" : "");
    cell.scope = "col";
    const button = element("button", "", column);
    button.type = "button";
    button.addEventListener("click", () => sort(number));
    cell.append(button);
    head.append(withRole(cell, "columnheader"));
  });
  withRole(table, "table");
  [table.tHead, body].forEach((group) => withRole(group, "rowgroup"));
  withRole(head, "row");
  const search = element("input");
  search.type = "search";
  search.placeholder = "search";
  search.setAttribute("aria-label", `search in: ${data.title}`);
  search.addEventListener("input", () => { state.words = search.value.toLowerCase(); state.page = 0; draw(); });
  const back = turn("‹ back", -1);
  const on = turn("on ›", 1);
  const count = element("span", "soft");
  count.setAttribute("role", "status");
  const controls = element("div", "controls");
  controls.append(search, back, on, count);
  const scroll = element("div", "scroll");
  scroll.append(table);
  place.replaceChildren();
  if (data.rows.length > ROWS_AT_A_GLANCE) place.append(controls);
  place.append(scroll);

  function turn(text, pages) {
    const button = element("button", "", text);
    button.type = "button";
    button.addEventListener("click", () => { state.page += pages; draw(); });
    return button;
  }

  function sort(column) {
    state.falling = state.column === column && !state.falling;
    state.column = column;
    const sign = state.falling ? -1 : 1;
    state.order.sort((one, other) => sign * compare(data.rows[one][column], data.rows[other][column]) || one - other);
    state.page = 0;
    [...head.cells].forEach((cell, number) => {
      if (number === column) cell.setAttribute("aria-sort", state.falling ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    draw();
  }

  function found() {
    return state.words ? state.order.filter((row) => texts[row].includes(state.words)) : state.order;
  }

  function draw() {
    const rows = found();
    const pages = Math.max(1, Math.ceil(rows.length / ROWS_A_PAGE));
    const first = state.page * ROWS_A_PAGE;
    body.replaceChildren(...rows.slice(first, first + ROWS_A_PAGE).map(line));
    back.disabled = state.page === 0;
    on.disabled = state.page >= pages - 1;
    count.textContent = `${rows.length.toLocaleString("en")} rows, page ${state.page + 1} of ${pages}`;
  }

  function line(number) {
    const row = withRole(element("tr"), "row");
    data.rows[number].forEach((value, column) => {
      const numeric = data.numbers.includes(column);
      const cell = withRole(element("td", numeric ? "number" : data.colours[value] || ""), "cell");
      if (short[column]) cell.classList.add("short");
      cell.dataset.column = data.columns[column];
      const text = value === null ? "" : numeric ? value.toLocaleString("en") : value;
      const card = column === data.linked && data.cards[number];
      if (card) cell.append(link(text, card));
      else cell.textContent = text;
      row.append(cell);
    });
    return row;
  }

  function link(text, card) {
    const made = element("a", "", text);
    made.href = `#${card}`;
    return made;
  }

  function rowOf(card) {
    search.value = state.words = "";
    state.page = Math.floor(state.order.findIndex((row) => data.cards[row] === card) / ROWS_A_PAGE);
    draw();
    const shown = body.querySelector(`a[href="#${card}"]`);
    shown.focus();
    shown.scrollIntoView({ block: "center" });
  }

  if (place.id === "partitions") data.cards.filter(Boolean).forEach((card) => { showRow[card] = () => rowOf(card); });
  draw();
}

function compare(one, other) {
  if (one === other) return 0;
  if (one === null || other === null) return one === null ? -1 : 1;
  return typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
}

function element(name, kind = "", text = "") {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  if (text) made.textContent = text;
  return made;
}

// In a narrow window a table is laid out as blocks, after which browsers no longer call it a table.
function withRole(made, role) {
  made.setAttribute("role", role);
  return made;
}

function offerCopy(command) {
  const code = command.querySelector("code");
  const button = element("button", "", "copy");
  button.type = "button";
  const name = `copy the command ${code.textContent}`;
  button.setAttribute("aria-label", name);
  const said = element("span", "unseen");
  said.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    const copied = await copy(code);
    button.textContent = copied ? "copied" : "press Ctrl-C";
    said.textContent = copied ? "copied" : "the command is selected: press Ctrl-C";
    setTimeout(() => { button.textContent = "copy"; said.textContent = ""; }, COPIED_FOR);
  });
  command.append(button, said);
}

// Browsers keep the clipboard from pages that come over plain HTTP; those let what is selected be copied.
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return document.execCommand("copy");
  }
}

function openCard() {
  const card = location.hash && document.getElementById(location.hash.slice(1));
  const details = card && card.querySelector(":scope > details");
  if (details) {
    details.open = true;
    card.scrollIntoView();
    card.focus({ preventScroll: true });
  }
}

document.querySelectorAll("[data-table]").forEach(show);
document.querySelectorAll(".run").forEach(offerCopy);
document.querySelectorAll("[data-card]").forEach((link) => {
  link.addEventListener("click", (event) => {
    const bring = showRow[link.dataset.card];
    if (bring) { event.preventDefault(); bring(); }
  });
});
addEventListener("hashchange", openCard);
openCard();
