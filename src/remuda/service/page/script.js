// The page: indexes with their figures, and an event tried against one of them.

const SHOWN = 100; // answers that are listed; the rest is counted
const find = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
let token = sessionStorage.getItem("token") ?? "";

class Problem extends Error {}

// Whatever comes from the service is put into the page as text, never as HTML.
function element(name, text, ...parts) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  made.append(...parts);
  return made;
}

async function ask(path, body) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers,
    body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
  });
  const found = await answer.json();
  if (answer.ok) return found;
  if (answer.status === 401) find("entry").hidden = false;
  const place = found.place ? ` (at ${found.place})` : "";
  throw new Problem((found.detail ?? answer.statusText) + place);
}

function notice(text) {
  find("notice").textContent = text;
  find("notice").hidden = !text;
}

async function told(work) {
  notice("");
  try {
    await work();
  } catch (error) {
    notice(error instanceof Problem ? error.message : `The service does not answer: ${error.message}`);
  }
}

const path = (index, ...rest) => ["v1/indexes", encodeURIComponent(index), ...rest].join("/");

async function showIndexes() {
  const { indexes } = await ask("v1/indexes");
  find("entry").hidden = true;
  find("empty").hidden = indexes.length > 0;
  find("index").replaceChildren(...indexes.map(({ name }) => element("option", name)));
  const rows = await Promise.all(indexes.slice(0, SHOWN).map(async ({ name, criteria }) => {
    const stats = await ask(path(name, "stats"));
    const figures = [criteria, stats.clauses, stats.dimensions, stats.segments, stats.bytes];
    const cells = figures.map((one) => (one === undefined ? "–" : number.format(one)));
    return element("tr", undefined, ...[name, ...cells, stats.matcher].map((one) => element("td", one)));
  }));
  find("indexes").tBodies[0].replaceChildren(...rows);
}

// The body is put together as text, so that large numbers in the event stay what they are.
function bodyOf(rest) {
  const event = find("event").value;
  try {
    JSON.parse(event);
  } catch (error) {
    throw new Problem(`The event is not JSON: ${error.message}`);
  }
  const others = Object.entries(rest).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{"event":${event}${others.join("")}}`;
}

function tree(text) {
  const shown = element("pre");
  for (const line of text.split("\n")) {
    const kind = line.includes("✓") ? "true" : line.includes("✗") ? "false" : "";
    const span = element("span", `${line}\n`);
    if (kind) span.className = kind;
    shown.append(span);
  }
  return shown;
}

function explained(index, id, body) {
  const details = element("details", undefined, element("summary", id));
  details.addEventListener("toggle", () => told(async () => {
    if (!details.open || details.querySelector("pre")) return;
    const { text } = await ask(path(index, "explain"), body(id));
    details.append(tree(text));
  }));
  return element("li", undefined, details);
}

function list(index, ids, words) {
  const event = bodyOf({}).slice(0, -1); // as it was when it was asked
  const body = (id) => `${event},"id":${JSON.stringify(id)}}`;
  find("outcome").textContent = words;
  find("answers").replaceChildren(...ids.slice(0, SHOWN).map((id) => explained(index, id, body)));
}

async function match() {
  const index = find("index").value;
  const start = performance.now();
  const { ids } = await ask(path(index, "match"), bodyOf({}));
  const took = (performance.now() - start).toFixed(1);
  const more = ids.length > SHOWN ? `, the first ${SHOWN} are shown` : "";
  const what = ids.length === 1 ? "criterion holds" : "criteria hold";
  list(index, ids, `${number.format(ids.length)} ${what}${more} (${took} ms there and back)`);
}

async function nearest() {
  const index = find("index").value;
  const { near } = await ask(path(index, "nearest"), bodyOf({ n: 5 }));
  list(index, near.map((one) => one.id), near.length ? "The nearest misses" : "Nothing comes near");
}

let seed = 1;

// Another event each time, made from the criteria of the index.
async function example() {
  const { events } = await ask(`${path(find("index").value, "events")}?n=1&seed=${seed++}`);
  if (!events.length) throw new Problem("The index has no criteria to make an event from");
  find("event").value = JSON.stringify(events[0], undefined, 1);
  await match();
}

async function describe() {
  const { version } = await ask("healthz");
  find("version").textContent = version;
}

find("try").addEventListener("submit", (submitted) => {
  submitted.preventDefault();
  told(match);
});
find("nearest").addEventListener("click", () => told(nearest));
find("example").addEventListener("click", () => told(example));
find("entry").addEventListener("submit", (submitted) => {
  submitted.preventDefault();
  token = find("token").value.trim();
  sessionStorage.setItem("token", token);
  told(showIndexes);
});
told(async () => {
  await describe();
  await showIndexes();
});
