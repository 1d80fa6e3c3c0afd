/**
 * A question may say, as a JSON schema, what an answer looks like. Here the schema becomes the fields of a form, and
 * what was filled in becomes the answer; what no field can hold is asked for as JSON.
 */

/**
 * @typedef {object} Field
 * @property {string} name "" when the whole answer is this one value
 * @property {string} label
 * @property {"text"|"number"|"integer"|"boolean"|"choice"|"json"} type
 * @property {string[]} options what can be chosen, as JSON
 * @property {boolean} required
 * @property {string} help
 */

/**
 * @param {any} schema
 * @returns {Field[]}
 */
export function fieldsOf(schema) {
  if (!schema || typeof schema !== "object") return [field("", { type: "string" }, true)];
  if (schema.type === "object" && schema.properties && typeof schema.properties === "object") {
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    return Object.entries(schema.properties).map(([name, part]) => field(name, part, required.has(name)));
  }
  return [field("", schema, true)];
}

/**
 * @param {string} name
 * @param {any} schema
 * @param {boolean} required
 * @returns {Field}
 */
function field(name, schema, required) {
  const options = Array.isArray(schema?.enum)
    ? schema.enum.map((/** @type {unknown} */ one) => JSON.stringify(one))
    : [];
  const label = String(schema?.title || name || "Your answer");
  return { name, label, type: typeOf(schema, options), options, required, help: String(schema?.description || "") };
}

/**
 * @param {any} schema
 * @param {string[]} options
 * @returns {Field["type"]}
 */
function typeOf(schema, options) {
  if (options.length) return "choice";
  const type = schema?.type;
  if (type === "number" || type === "integer" || type === "boolean") return type;
  return type === "string" || type === undefined ? "text" : "json";
}

/** What was filled in cannot be an answer; the message says why. */
export class NotAnAnswer extends Error {}

/**
 * The answer that the values of the fields make.
 * @param {Field[]} fields
 * @param {Record<string, string|boolean>} values by the fields' names
 * @returns {unknown}
 */
export function answerOf(fields, values) {
  if (fields.length === 1 && fields[0].name === "") return valueOf(fields[0], values[""]);
  /** @type {Record<string, unknown>} */
  const answer = {};
  for (const one of fields) {
    const value = valueOf(one, values[one.name]);
    if (value !== undefined) answer[one.name] = value;
  }
  return answer;
}

/**
 * @param {Field} one
 * @param {string|boolean|undefined} given
 */
function valueOf(one, given) {
  if (one.type === "boolean") return Boolean(given);
  const text = String(given ?? "").trim();
  if (!text) {
    if (one.required) throw new NotAnAnswer(`“${one.label}” needs an answer.`);
    return undefined;
  }
  if (one.type === "text") return text;
  if (one.type === "choice") return JSON.parse(text);
  if (one.type === "json") return json(one, text);
  const number = Number(text);
  if (!Number.isFinite(number) || (one.type === "integer" && !Number.isInteger(number))) {
    throw new NotAnAnswer(`“${one.label}” must be ${one.type === "integer" ? "a whole number" : "a number"}.`);
  }
  return number;
}

/**
 * @param {Field} one
 * @param {string} text
 */
function json(one, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new NotAnAnswer(`“${one.label}” must be JSON, such as ["a", "b"].`);
  }
}
