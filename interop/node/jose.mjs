// Verifies our signed statements with jose, as a Company would: the delegation against the key set we publish, then the
// Session JWT and the browser assertion against the delegated key. Then the same verification is given statements that
// were tampered with, and must refuse each.
//
//   node jose.mjs STATEMENTS.json
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  base64url, createLocalJWKSet, decodeJwt, decodeProtectedHeader, generateKeyPair, importJWK, jwtVerify, SignJWT,
  exportJWK,
} from "jose";
import { check, must, refused } from "./checks.mjs";

const given = JSON.parse(readFileSync(process.argv[2], "utf8"));
const profile = {
  session: { typ: "poppy-session+jwt", audience: given.issuer },
  join: { typ: "poppy-browser+jwt", audience: given.join_endpoint },
};
const longestDelegation = 3600;
const longestStatement = 60;
const random128 = /^[A-Za-z0-9_-]{22,}$/;
const publicMembers = ["kty", "crv", "x", "y", "kid", "alg", "use"];

function onlyPublic(jwk, whose) {
  must(jwk !== null && typeof jwk === "object" && !Array.isArray(jwk), `${whose} is not an object`);
  for (const member of Object.keys(jwk)) must(publicMembers.includes(member), `${whose} has the member ${member}`);
  must(jwk.kty === "EC" && jwk.crv === "P-256", `${whose} is not a P-256 key`);
}

async function delegated(statement, keys, options) {
  const { poppy_dlg: delegation } = decodeProtectedHeader(statement);
  must(typeof delegation === "string", "poppy_dlg is not a compact JWS");
  const { kid } = decodeProtectedHeader(delegation);
  must(keys.keys.some((key) => key.kid === kid && key.alg === "ES256"), "the delegation's kid is not published");
  const { payload } = await jwtVerify(delegation, createLocalJWKSet(keys), {
    algorithms: ["ES256"], typ: "poppy-delegation+jwt", issuer: given.client_id, maxTokenAge: longestDelegation,
    requiredClaims: ["iat", "exp", "cnf"], ...options,
  });
  must(payload.exp - payload.iat <= longestDelegation, "the delegation lives longer than an hour");
  onlyPublic(payload.cnf.jwk, "cnf.jwk");
  return payload.cnf.jwk;
}

async function verify(entry, { keys = given.jwks, ...options } = {}) {
  const kind = profile[entry.kind];
  const jwk = await delegated(entry.jwt, keys, options);
  must(!keys.keys.some((key) => key.x === jwk.x), "a long-term key signs it");
  const { payload, protectedHeader } = await jwtVerify(entry.jwt, await importJWK(jwk, "ES256"), {
    algorithms: ["ES256"], typ: kind.typ, issuer: given.client_id, subject: given.user, audience: kind.audience,
    maxTokenAge: longestStatement, requiredClaims: ["iat", "exp", "jti", "sid"], ...options,
  });
  must(protectedHeader.jwk === undefined, "the header carries a key of its own");
  must(typeof payload.aud === "string", "aud is not one string");
  must(payload.exp - payload.iat <= longestStatement, "it lives longer than a minute");
  must(payload.sid === entry.sid, "sid is not the Session's");
  must(random128.test(payload.jti), "jti has less than 128 bits");
  if (entry.kind === "join") must(payload.return_to === entry.return_to, "return_to is another one");
  if (entry.access_token) {
    const ath = createHash("sha256").update(entry.access_token, "ascii").digest("base64url");
    must(payload.ath === ath, "ath is not that of the access token");
  } else {
    must(payload.ath === undefined, "ath is there without an access token");
  }
  return payload;
}

await check("the key set has public keys only", () => {
  must(given.jwks.keys.length > 0, "it is empty");
  for (const key of given.jwks.keys) {
    onlyPublic(key, "a key");
    must(key.alg === "ES256" && key.use === "sig" && typeof key.kid === "string", "a key lacks alg, use or kid");
  }
});
await check("the client metadata document says who and where", () => {
  must(given.agent.client_id === given.client_id, "client_id is another one");
  must(given.agent.token_endpoint_auth_method === "private_key_jwt", "another authentication method");
  must(given.agent.jwks_uri === new URL("jwks.json", given.client_id).href, "jwks_uri is elsewhere");
  for (const uri of given.agent.redirect_uris) must(new URL(uri).host === new URL(given.client_id).host, "a redirect elsewhere");
});

must(given.statements.length > 0, "there is no statement");
const seen = new Set();
for (const entry of given.statements) {
  await check(`${entry.name} verifies`, async () => {
    const { jti } = await verify(entry);
    must(!seen.has(jti), "its jti came before");
    seen.add(jti);
  });
}

// Every way in which a statement may be wrong, made from one that is right.
const stranger = await generateKeyPair("ES256", { extractable: true });
const strangerKey = { ...(await exportJWK(stranger.publicKey)), alg: "ES256", use: "sig" };
const later = (seconds) => new Date(Date.now() + seconds * 1000);

function rewritten(jwt, part, change) {
  const parts = jwt.split(".");
  const value = JSON.parse(new TextDecoder().decode(base64url.decode(parts[part])));
  change(value);
  parts[part] = base64url.encode(JSON.stringify(value));
  return parts.join(".");
}

const byKind = (kind, signedIn) => given.statements.find((e) => e.kind === kind && Boolean(e.access_token) === signedIn);
for (const entry of [byKind("session", false), byKind("session", true), byKind("join", false), byKind("join", true)]) {
  if (!entry) continue;
  const { name, jwt } = entry;
  const header = decodeProtectedHeader(jwt);
  for (const claim of Object.keys(decodeJwt(jwt))) {
    await refused(`${name} with another ${claim}`, () =>
      verify({ ...entry, jwt: rewritten(jwt, 1, (p) => { p[claim] = typeof p[claim] === "number" ? p[claim] + 1 : `${p[claim]}x`; }) }));
  }
  await refused(`${name} with its signature cut`, () => verify({ ...entry, jwt: jwt.slice(0, jwt.lastIndexOf(".") + 1) }));
  await refused(`${name} with alg none`, () =>
    verify({ ...entry, jwt: rewritten(jwt, 0, (h) => { h.alg = "none"; }).replace(/[^.]*$/, "") }));
  await refused(`${name} signed by a stranger`, async () => verify({
    ...entry, jwt: await new SignJWT(decodeJwt(jwt)).setProtectedHeader(header).sign(stranger.privateKey),
  }));
  await refused(`${name} under a stranger's delegation`, async () => {
    const forged = await new SignJWT({ ...decodeJwt(header.poppy_dlg), cnf: { jwk: strangerKey } })
      .setProtectedHeader(decodeProtectedHeader(header.poppy_dlg)).sign(stranger.privateKey);
    return verify({
      ...entry,
      jwt: await new SignJWT(decodeJwt(jwt)).setProtectedHeader({ ...header, poppy_dlg: forged }).sign(stranger.privateKey),
    });
  });
  await refused(`${name} against another key set`, () =>
    verify(entry, { keys: { keys: [{ ...strangerKey, kid: given.jwks.keys[0].kid }] } }));
  await refused(`${name} after its time`, () => verify(entry, { currentDate: later(longestStatement + 1) }));
  await refused(`${name} as the other kind`, () => verify({ ...entry, kind: entry.kind === "join" ? "session" : "join" }));
  await refused(`${name} with another access token`, () => verify({ ...entry, access_token: "another" }));
}
