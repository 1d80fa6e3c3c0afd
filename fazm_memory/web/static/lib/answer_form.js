/**
 * The answer form of a question: a JSON schema becomes form fields, and the values of the fields become the answer.
 * Types without a field of their own are entered as JSON.
 */

/**
 * @typedef {object} Field
 * @property {string} name "" if the answer is a single value
 * @property {string} label
 * @property {"text"|"number"|"integer"|"boolean"|"choice"|"json"} type
 * @property {string[]} options the choices as JSON
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
    ? schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value))
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

/** The values do not make a valid answer. The message says why. */
export class InvalidAnswer extends Error {}

/**
 * Build the answer from the values of the fields.
 * @param {Field[]} fields
 * @param {Record<string, string|boolean>} values by field name
 * @returns {unknown}
 */
export function answerOf(fields, values) {
  if (fields.length === 1 && fields[0].name === "") return valueOf(fields[0], values[""]);
  /** @type {Record<string, unknown>} */
  const answer = {};
  for (const each of fields) {
    const value = valueOf(each, values[each.name]);
    if (value !== undefined) answer[each.name] = value;
  }
  return answer;
}

/**
 * @param {Field} field
 * @param {string|boolean|undefined} input
 */
function valueOf(field, input) {
  if (field.type === "boolean") return Boolean(input);
  const text = String(input ?? "").trim();
  if (!text) {
    if (field.required) throw new InvalidAnswer(`“${field.label}” is required.`);
    return undefined;
  }
  if (field.type === "text") return text;
  if (field.type === "choice") return JSON.parse(text);
  if (field.type === "json") return parseJson(field, text);
  const number = Number(text);
  if (!Number.isFinite(number) || (field.type === "integer" && !Number.isInteger(number))) {
    throw new InvalidAnswer(`“${field.label}” must be ${field.type === "integer" ? "a whole number" : "a number"}.`);
  }
  return number;
}

/**
 * @param {Field} field
 * @param {string} text
 */
function parseJson(field, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidAnswer(`“${field.label}” must be JSON, such as ["a", "b"].`);
  }
}
