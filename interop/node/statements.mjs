// Verifies the statements of protocol 1.0 with jose, as a Company would.
import { createHash } from "node:crypto";
import { createLocalJWKSet, decodeProtectedHeader, importJWK, jwtVerify } from "jose";
import { must } from "./checks.mjs";

const longestDelegation = 3600;
export const longestStatement = 60;
const random128 = /^[A-Za-z0-9_-]{22,}$/;
const publicMembers = ["kty", "crv", "x", "y", "kid", "alg", "use"];

export function onlyPublic(jwk, whose) {
  must(jwk !== null && typeof jwk === "object" && !Array.isArray(jwk), `${whose} is not an object`);
  for (const member of Object.keys(jwk)) must(publicMembers.includes(member), `${whose} has the member ${member}`);
  must(jwk.kty === "EC" && jwk.crv === "P-256", `${whose} is not a P-256 key`);
}

// verifier returns the check of one statement for the parties given: {kind, jwt}, and sid, return_to and access_token
// where they are known. It returns the claims, or throws.
export function verifier({ client_id: clientID, user, issuer, join_endpoint: joinEndpoint, jwks }) {
  const kinds = {
    session: { typ: "poppy-session+jwt", audience: issuer },
    join: { typ: "poppy-browser+jwt", audience: joinEndpoint },
  };

  async function delegated(statement, keys, options) {
    const { poppy_dlg: delegation } = decodeProtectedHeader(statement);
    must(typeof delegation === "string", "poppy_dlg is not a compact JWS");
    const { kid } = decodeProtectedHeader(delegation);
    must(keys.keys.some((key) => key.kid === kid && key.alg === "ES256"), "the delegation's kid is not published");
    const { payload } = await jwtVerify(delegation, createLocalJWKSet(keys), {
      algorithms: ["ES256"], typ: "poppy-delegation+jwt", issuer: clientID, maxTokenAge: longestDelegation,
      requiredClaims: ["iat", "exp", "cnf"], ...options,
    });
    must(payload.exp - payload.iat <= longestDelegation, "the delegation lives longer than an hour");
    onlyPublic(payload.cnf.jwk, "cnf.jwk");
    return payload.cnf.jwk;
  }

  return async function verify(entry, { keys = jwks, ...options } = {}) {
    const kind = kinds[entry.kind];
    const jwk = await delegated(entry.jwt, keys, options);
    must(!keys.keys.some((key) => key.x === jwk.x), "a long-term key signs it");
    const { payload, protectedHeader } = await jwtVerify(entry.jwt, await importJWK(jwk, "ES256"), {
      algorithms: ["ES256"], typ: kind.typ, issuer: clientID, subject: user, audience: kind.audience,
      maxTokenAge: longestStatement, requiredClaims: ["iat", "exp", "jti", "sid", "sub"], ...options,
    });
    must(protectedHeader.jwk === undefined, "the header carries a key of its own");
    must(typeof payload.aud === "string", "aud is not one string");
    must(payload.exp - payload.iat <= longestStatement, "it lives longer than a minute");
    must(random128.test(payload.jti), "jti has less than 128 bits");
    if (entry.sid) must(payload.sid === entry.sid, "sid is not the Session's");
    if (entry.kind === "join") must(payload.return_to === entry.return_to, "return_to is another one");
    if (entry.access_token) {
      const ath = createHash("sha256").update(entry.access_token, "ascii").digest("base64url");
      must(payload.ath === ath, "ath is not that of the access token");
    } else {
      must(payload.ath === undefined, "ath is there without an access token");
    }
    return payload;
  };
}
