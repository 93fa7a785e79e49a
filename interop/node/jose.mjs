// Verifies our signed statements with jose, as a Company would: the delegation against the key set we publish, then the
// Session JWT and the browser assertion against the delegated key. Then the same verification is given statements that
// were tampered with, and must refuse each.
//
//   node jose.mjs STATEMENTS.json
import { readFileSync } from "node:fs";
import { base64url, decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from "jose";
import { check, must, refused } from "./checks.mjs";
import { longestStatement, onlyPublic, verifier } from "./statements.mjs";

const given = JSON.parse(readFileSync(process.argv[2], "utf8"));
const verify = verifier(given);

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
