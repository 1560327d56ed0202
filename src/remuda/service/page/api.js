// The API's description for people, made from the OpenAPI document.

const find = (id) => document.getElementById(id);
const groups = [["/v1/indexes", "Indexes"], ["/v1/jobs", "Jobs"], ["/mustang", "Mustang's"], ["/", "Probes"]];

function element(name, text, ...parts) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  made.append(...parts);
  return made;
}

// A schema in the words of a type: what TypeScript would say, as far as it goes.
function words(schema, schemas, open = true) {
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return open ? words(schemas[name], schemas, false) : name;
  }
  if (schema.anyOf) return schema.anyOf.map((one) => words(one, schemas, false)).join(" | ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.type === "array") return `[${words(schema.items ?? {}, schemas, false)} …]`;
  if (schema.type !== "object") return schema.type ?? "anything";
  if (!schema.properties) return `{…: ${words(schema.additionalProperties || {}, schemas, false)}}`;
  const required = schema.required ?? [];
  const lines = Object.entries(schema.properties).map(([name, one]) =>
    `  ${name}${required.includes(name) ? "" : "?"}: ${words(one, schemas, false)}`);
  return `{\n${lines.join("\n")}\n}`;
}

function described(schema, schemas) {
  const whole = schema.$ref ? schemas[schema.$ref.split("/").pop()] : schema;
  return whole.description ?? "";
}

function content(title, some, schemas) {
  return Object.entries(some ?? {}).flatMap(([kind, { schema }]) => [
    element("h4", `${title}, ${kind}`),
    ...(schema ? [element("p", described(schema, schemas)), element("pre", words(schema, schemas))] : []),
  ]);
}

function parameters(some, schemas) {
  const entries = some.flatMap((one) => [
    element("dt", `${one.name}${one.required ? "" : "?"}: ${words(one.schema, schemas)}`),
    element("dd", `in the ${one.in}`),
  ]);
  return entries.length ? [element("dl", undefined, ...entries)] : [];
}

function operation(path, method, told, schemas) {
  const head = element("summary", undefined, element("code", `${method.toUpperCase()} ${path}`), ` ${told.summary}`);
  const role = told["x-role"] ? [element("p", `A token needs the role ${told["x-role"]}.`)] : [];
  const answers = Object.entries(told.responses).flatMap(([status, one]) => status === "default" ? [] : [
    element("h4", `${status}: ${one.description}`), ...content("answer", one.content, schemas),
  ]);
  const made = element("details", undefined, head, ...role, ...parameters(told.parameters, schemas),
    ...content("body", told.requestBody?.content, schemas), ...answers);
  made.id = told.operationId;
  return made;
}

async function show() {
  const { info, paths, components } = await (await fetch("openapi.json")).json();
  find("version").textContent = info.version;
  find("words").textContent = info.description;
  const left = Object.entries(paths);
  for (const [prefix, title] of groups) {
    const own = left.filter(([path]) => path.startsWith(prefix));
    for (const one of own) left.splice(left.indexOf(one), 1);
    const shown = own.flatMap(([path, methods]) => Object.entries(methods).map(([method, told]) =>
      operation(path, method, told, components.schemas)));
    find("operations").append(element("section", undefined, element("h2", title), ...shown));
  }
  const wanted = location.hash && find(location.hash.slice(1));
  if (wanted) wanted.open = true;
}

find("filter").addEventListener("input", () => {
  const text = find("filter").value.toLowerCase();
  for (const one of find("operations").querySelectorAll("details"))
    one.hidden = !one.firstChild.textContent.toLowerCase().includes(text);
});
show().catch((error) => {
  find("notice").textContent = `The service does not answer: ${error.message}`;
  find("notice").hidden = false;
});
