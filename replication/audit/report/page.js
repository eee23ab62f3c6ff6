// Tables of any length, from the JSON in the page: a page of rows at a time, sorted and searched in memory.
"use strict";
const ROWS_A_PAGE = 100;
const ROWS_AT_A_GLANCE = 10;

function show(place) {
  const data = JSON.parse(document.getElementById(place.dataset.table).textContent);
  const texts = data.rows.map((row) => row.join("\u0000").toLowerCase());
  const state = { order: data.rows.map((_, number) => number), column: -1, falling: false, page: 0, words: "" };
  const table = element("table");
  const head = table.createTHead().insertRow();
  const body = table.createTBody();
  data.columns.forEach((column, number) => {
    const cell = element("th", data.numbers.includes(number) ? "number" : "");
    const button = element("button", "", column);
    button.addEventListener("click", () => sort(number));
    cell.append(button);
    head.append(cell);
  });
  const search = element("input");
  search.type = "search";
  search.placeholder = "search";
  search.setAttribute("aria-label", "search in this table");
  search.addEventListener("input", () => { state.words = search.value.toLowerCase(); state.page = 0; draw(); });
  const back = element("button", "", "‹ back");
  const on = element("button", "", "on ›");
  const count = element("span", "soft");
  back.addEventListener("click", () => { state.page -= 1; draw(); });
  on.addEventListener("click", () => { state.page += 1; draw(); });
  const controls = element("div", "controls");
  controls.append(search, back, on, count);
  const scroll = element("div", "scroll");
  scroll.append(table);
  if (data.rows.length > ROWS_AT_A_GLANCE) place.append(controls);
  place.append(scroll);

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

  function draw() {
    const found = state.words ? state.order.filter((row) => texts[row].includes(state.words)) : state.order;
    const pages = Math.max(1, Math.ceil(found.length / ROWS_A_PAGE));
    const first = state.page * ROWS_A_PAGE;
    body.replaceChildren(...found.slice(first, first + ROWS_A_PAGE).map(line));
    back.disabled = state.page === 0;
    on.disabled = state.page >= pages - 1;
    count.textContent = `${found.length.toLocaleString("en")} rows, page ${state.page + 1} of ${pages}`;
  }

  function line(number) {
    const row = element("tr");
    data.rows[number].forEach((value, column) => {
      const numeric = data.numbers.includes(column);
      const cell = element("td", numeric ? "number" : data.colours[value] || "");
      cell.textContent = value === null ? "" : numeric ? value.toLocaleString("en") : value;
      row.append(cell);
    });
    return row;
  }

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

document.querySelectorAll("[data-table]").forEach(show);
