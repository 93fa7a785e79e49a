// Reads our fields with structured-headers, and judges Poppy-Operation fields by Operations v3, section 4, beside us.
//
//   node fields.mjs FIELDS.json VERDICTS.jsonl
import { readFileSync } from "node:fs";
import { parseDictionary, parseList, serializeDictionary, serializeList } from "structured-headers";
import { check, must, refused, skip } from "./checks.mjs";

const given = JSON.parse(readFileSync(process.argv[2], "utf8"));

const members = {
  operation_id: "string", revision: "string", approver: "string", approved_at: "number", input_type: "string",
  reference: "string",
};

function readApproval(field, expected) {
  const dictionary = parseDictionary(field);
  const seen = {};
  for (const [name, [value, parameters]] of dictionary) {
    must(name in members, `it has the member ${name}`);
    must(typeof value === members[name], `${name} is no ${members[name]}`);
    must(parameters.size === 0, `${name} has parameters`);
    seen[name] = value;
  }
  must(Number.isInteger(seen.approved_at), "approved_at is no Integer");
  for (const name of Object.keys(members)) must(seen[name] === expected[name], `${name} is ${seen[name]}`);
  must(serializeDictionary(dictionary) === field, "it is not written in the one canonical way");
}

function readExtensions(field, version) {
  const list = parseList(field);
  must(list.length === 1, "it lists other extensions too");
  const [[name, parameters]] = list;
  must(name === "operations", "it lists another extension");
  must(parameters.size === 1 && parameters.get("v") === version, "v is no String with our version");
  must(serializeList(list) === field, "it is not written in the one canonical way");
}

for (const { field, version } of given.extensions) {
  await check(`Poppy-Extensions ${field}`, () => readExtensions(field, version));
  await refused("Poppy-Extensions with a Token", () => readExtensions(field.replaceAll('"', ""), version));
  await refused("Poppy-Extensions of another version", () => readExtensions(field, `${version}0`));
}
for (const { field, expected } of given.approvals) {
  await check(`Poppy-Approval ${field}`, () => readApproval(field, expected));
  await refused("Poppy-Approval with a Token", () => readApproval(field.replace(/"([a-z]+)"/, "$1"), expected));
  await refused("Poppy-Approval for another operation", () => readApproval(field, { ...expected, operation_id: "other" }));
}

const malformed = "the header is not a well-formed dictionary";
const noSid = "sid is missing or not a String";
const noRef = "ref is missing or not a String";
const otherSid = "sid names a Session that this context is not joined to";
const badRef = "ref is not 1 to 2048 of A-Z a-z 0-9 - _ .";

// structured-headers 2.1.0 refuses a Date (RFC 9651, section 3.3.7) that anything but a space follows.
const brokenDate = /^Parse error: Expected a digit \(0-9\), whitespace or EOL/;

// A Byte Sequence without its padding: RFC 9651, section 4.2.7, leaves it to the parser, and the two differ.
const unpadded = (text) => [...text.matchAll(/:([A-Za-z0-9+/]*):/g)].some(([, bytes]) => bytes.length % 4 !== 0);

function judge(lines, sid) {
  if (!lines?.length) return ["", noSid]; // no field is an empty dictionary
  let dictionary;
  try {
    if (unpadded(lines.join(", "))) return ["", undefined];
    dictionary = parseDictionary(lines.join(", "));
  } catch (error) {
    return ["", brokenDate.test(error.message) ? undefined : malformed];
  }
  const [named] = dictionary.get("sid") ?? [];
  const [ref] = dictionary.get("ref") ?? [];
  if (typeof named !== "string") return ["", noSid];
  if (typeof ref !== "string") return ["", noRef];
  if (named !== sid) return ["", otherSid];
  return /^[A-Za-z0-9._-]{1,2048}$/.test(ref) ? [ref, ""] : ["", badRef];
}

// One check for each verdict of ours: the fields that got it get the same one here.
const verdicts = new Map(["", malformed, noSid, noRef, otherSid, badRef].map((why) => [why, { fields: 0, undecided: 0, differences: [] }]));
for (const line of readFileSync(process.argv[3], "utf8").trim().split("\n")) {
  const { lines, sid, ref, why } = JSON.parse(line);
  const counts = verdicts.get(why);
  const [theirs, reason] = judge(lines, sid);
  counts.fields++;
  if (reason === undefined) counts.undecided++;
  else if (theirs !== ref || reason !== why) {
    counts.differences.push(`${JSON.stringify(lines)}: we say ${JSON.stringify([ref, why])}, they say ${JSON.stringify([theirs, reason])}`);
  }
}
for (const [why, { fields, undecided, differences }] of verdicts) {
  const name = `${fields} fields of Poppy-Operation: ${why || "a reference"}`;
  await check(name, () => {
    must(fields - undecided > 100, "too few fields to tell");
    must(differences.length === 0, `${differences.length} judged otherwise: ${differences.slice(0, 3).join("; ")}`);
  });
  if (undecided > 0) skip(name, `${undecided} of them tell nothing: a comma follows a Date, which the library cannot read, or a Byte Sequence has no padding, which each may read in its own way`);
}
