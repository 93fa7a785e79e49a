// A Company of protocol 1.0 whose authorization server is oidc-provider and whose API verifies our statements with jose.
// It prints one line of JSON when it listens, and is driven by a control port like that of interop/peer.
//
//   node provider.mjs SETTINGS.json
import { createServer as createPlain } from "node:http";
import { createServer } from "node:https";
import { readFileSync } from "node:fs";
import { exportJWK, generateKeyPair, createLocalJWKSet, jwtVerify } from "jose";
import { Provider } from "oidc-provider";
import { Browser } from "./browser.mjs";
import { verifier } from "./statements.mjs";

const settings = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { company, auth, client_id: clientID, redirect_uri: redirectURI, agent_address: agentAddress } = settings;
const origin = `https://${company}`;
const issuer = `https://${auth}`;
const scopes = ["orders:read", "orders:write"];
const account = "acct_dana";
const tolerance = 150; // seconds: the agent moves its clock, twice by most of an access token's life

const names = { [new URL(clientID).hostname]: agentAddress.split(":") };
const reach = { names, ca: readFileSync(settings.ca) };

// What the agent publishes is fetched, as a Company would.
async function published(url) {
  const { status, text } = await new Browser(reach).exchange(url);
  if (status !== 200) throw new Error(`${url}: status ${status}`);
  return JSON.parse(text);
}
const document = await published(clientID);
const signing = await generateKeyPair("ES256", { extractable: true });
const signingKey = { ...(await exportJWK(signing.privateKey)), kid: "provider-1", alg: "ES256", use: "sig" };
const verifying = createLocalJWKSet({ keys: [{ ...(await exportJWK(signing.publicKey)), kid: "provider-1", alg: "ES256" }] });
const events = [];

const provider = new Provider(issuer, {
  clients: [{
    client_id: document.client_id, client_name: document.client_name, redirect_uris: document.redirect_uris,
    jwks_uri: document.jwks_uri, token_endpoint_auth_method: document.token_endpoint_auth_method,
    token_endpoint_auth_signing_alg: "ES256", id_token_signed_response_alg: "ES256", response_types: ["code"],
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
  }],
  jwks: { keys: [signingKey] },
  cookies: { keys: ["a key of this run"] },
  clockTolerance: tolerance,
  discovery: { poppy_domains: [company], protected_resources: [origin] },
  scopes: ["openid", ...scopes],
  clientAuthMethods: ["private_key_jwt"],
  enabledJWA: { clientAuthSigningAlgValues: ["ES256"] },
  pkce: { required: () => true },
  ttl: { AccessToken: 60, AuthorizationCode: 60, DeviceCode: 120, Grant: 3600, Interaction: 600, RefreshToken: 3600, Session: 600 },
  issueRefreshToken: async () => true,
  rotateRefreshToken: () => true,
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  fetch: async (url) => new Response(JSON.stringify(await published(String(url))), { headers: { "content-type": "application/json" } }),
  features: {
    devInteractions: { enabled: true },
    deviceFlow: { enabled: true, charset: "base-20", mask: "****-****" },
    revocation: { enabled: true },
    userinfo: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined, // an agent that names no resource gets no token for one
      useGrantedResource: () => false,
      getResourceServerInfo: (_, resource) => {
        if (resource !== origin) throw new Error("unknown resource");
        return { scope: scopes.join(" "), audience: origin, accessTokenTTL: 60, accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } };
      },
    },
  },
});
for (const event of ["grant.success", "grant.error", "grant.revoked", "server_error", "authorization.error", "revocation.error", "device_authorization.error"]) {
  provider.on(event, (ctx, error) => events.push({
    event, grant_type: ctx?.oidc?.params?.grant_type, error: error?.error ?? error?.message, detail: error?.error_detail, resource: ctx?.oidc?.params?.resource,
  }));
}
provider.on("refresh_token.consumed", () => events.push({ event: "refresh_token.consumed" }));
provider.on("refresh_token.destroyed", () => events.push({ event: "refresh_token.destroyed" }));

const documents = {
  "/.well-known/poppy.json": {
    protocol_versions: ["1.0"], organization: { name: "Provider Outfitters", domain: company },
    auth: { issuer, direct: { scopes }, device: { scopes } },
    apis: [{ type: "openapi", url: `${origin}/api/openapi.json`, description: "Orders" }],
  },
  "/.well-known/oauth-protected-resource": { resource: origin, authorization_servers: [issuer], scopes_supported: scopes },
};

// The API: 200 says what was verified, and everything else is a refusal.
const used = new Set();
const sessions = new Map(); // sid -> account
async function api(request) {
  const statement = request.headers["poppy-session"];
  const authorization = request.headers.authorization;
  const accessToken = authorization?.startsWith("Bearer ") ? authorization.slice(7) : undefined;
  const verify = verifier({ client_id: clientID, issuer, jwks: await published(document.jwks_uri) });
  const claims = await verify({ kind: "session", jwt: statement, access_token: accessToken }, { clockTolerance: tolerance });
  if (used.has(claims.jti)) throw new Error("the statement was used before");
  used.add(claims.jti);
  if (!accessToken) return { status: 401, headers: { "www-authenticate": 'Bearer scope="orders:read"' } };
  const { payload } = await jwtVerify(accessToken, verifying, { issuer, audience: origin, algorithms: ["ES256"] });
  if (payload.client_id !== clientID) throw new Error("the access token is another agent's");
  if (sessions.has(claims.sid) && sessions.get(claims.sid) !== payload.sub) throw new Error("the Session is another account's");
  sessions.set(claims.sid, payload.sub);
  if (!payload.scope.split(" ").includes("orders:read")) return { status: 403 };
  return { status: 200, body: { account: payload.sub, sid: claims.sid, scope: payload.scope } };
}

async function website(request, response) {
  const { pathname } = new URL(request.url, origin);
  let answer;
  if (documents[pathname]) answer = { status: 200, body: documents[pathname] };
  else if (pathname === "/api/orders") {
    answer = await api(request).catch((error) => {
      events.push({ event: "api.refused", error: error.message });
      return { status: 400, body: { error: "invalid_request" } };
    });
  } else answer = { status: 404 };
  response.writeHead(answer.status, { "content-type": "application/json", "cache-control": "no-store", ...answer.headers });
  response.end(answer.body && JSON.stringify(answer.body));
}

const oauth = provider.callback();
const secure = createServer({ cert: readFileSync(settings.cert), key: readFileSync(settings.key) }, (request, response) => {
  if (request.headers.host === company) website(request, response);
  else if (request.headers.host === auth) oauth(request, response);
  else response.writeHead(421).end();
});

// What the User does at the Company, in a browser of their own.
async function signInAndConsent(browser, page) {
  for (let step = 0; step < 3 && page.text?.includes('name="prompt"'); step++) {
    page = await browser.submit(page, page.text.includes('value="login"') ? { login: account, password: "any" } : {});
  }
  return page;
}
const controls = {
  "approve-authorization": async ({ authorization_url: url }) => {
    const browser = new Browser(reach);
    const { url: callback, status, text } = await signInAndConsent(browser, await browser.open(url));
    if (!callback.startsWith(redirectURI)) throw new Error(`no callback: ${status} at ${callback}: ${text?.slice(0, 200)}`);
    return { callback_url: callback };
  },
  "approve-device": async ({ user_code: code }) => {
    const browser = new Browser(reach);
    const confirm = await browser.submit(await browser.open(`${issuer}/device`), { user_code: code });
    const done = await signInAndConsent(browser, await browser.submit(confirm, { confirm: "yes" }));
    if (done.status !== 200 || !done.text.includes("Sign-in Success")) throw new Error(`not approved: ${done.status} ${done.text?.slice(0, 300)}`);
    return {};
  },
  "deny-device": async ({ user_code: code }) => {
    const browser = new Browser(reach);
    const confirm = await browser.submit(await browser.open(`${issuer}/device`), { user_code: code });
    await browser.submit(confirm, { abort: "yes" });
    return {};
  },
  events: async () => ({ events: events.splice(0) }),
};
const control = createPlain(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  try {
    const done = await controls[request.url.slice(1)](JSON.parse(Buffer.concat(parts).toString() || "{}"));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(done));
  } catch (error) {
    response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error: String(error.stack ?? error) }));
  }
});

const listening = (server) => new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));
const port = await listening(secure);
names[company] = names[auth] = ["127.0.0.1", port];
console.log(JSON.stringify({ company: origin, issuer, address: `127.0.0.1:${port}`, control: `http://127.0.0.1:${await listening(control)}` }));
