// The round of make bench as a Playwright program, written to be fast: nothing is stored, connections are kept, and what
// can be done at once is. It reads a JSON line for each thing to do and answers with one: {took: milliseconds} or {error}.
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

let browser, page, site, agent;

async function start(what) {
  site = what;
  // Exactly the flags that the others are started with, and a pipe.
  browser = await chromium.launchPersistentContext(what.profile, {
    executablePath: what.chromium, ignoreDefaultArgs: true, viewport: null,
    args: [...what.flags, '--remote-debugging-pipe', `--user-data-dir=${what.profile}`, 'about:blank'],
  });
  page = browser.pages()[0] ?? await browser.newPage();
  const [host, port] = what.address.split(':');
  agent = new Agent({ keepAlive: true, ca: what.authority, servername: new URL(what.endpoint).hostname, host, port });
  const field = ([name, value]) => `<input type=hidden name="${name}" value="${value.replaceAll('"', '&quot;')}">`;
  await page.setContent(`<form method=post action="${what.join}">${Object.entries(what.fields).map(field).join('')}</form>`);
  const [landed] = await Promise.all([
    page.waitForResponse((r) => r.request().isNavigationRequest() && r.status() === 200),
    page.evaluate(() => document.forms[0].submit()),
  ]);
  await landed.finished();
  await page.waitForLoadState();
  return 0;
}

// post sends a reference to the operations endpoint, with an approval or without.
function post(ref, fields) {
  const body = JSON.stringify({ ref });
  const url = new URL(site.endpoint);
  const [host, port] = site.address.split(':');
  return new Promise((resolve, reject) => {
    const req = request({
      agent, host, port, servername: url.hostname, path: url.pathname, method: 'POST',
      headers: { Host: url.host, 'Content-Type': 'application/json', Accept: 'application/json', 'Content-Length': Buffer.byteLength(body), ...fields },
    }, (res) => {
      const parts = [];
      res.on('data', (part) => parts.push(part));
      res.on('end', () => {
        const text = Buffer.concat(parts).toString();
        resolve({ status: res.statusCode, body: text && JSON.parse(text) });
      });
      res.on('error', reject);
    });
    req.on('error', reject);
    req.end(body);
  });
}

function expect(what, answer, status) {
  if (answer.status !== status) throw new Error(`${what} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function round({ signed }) {
  await page.goto(site.page);
  const began = performance.now();
  const refused = page.waitForResponse((r) => r.status() === 403 && 'poppy-operation' in r.headers());
  const pressed = page.click('#exchange');
  const header = (await refused).headers()['poppy-operation'];
  const ref = /(?:^|[\s,])ref="([^"]*)"/.exec(header)[1];
  const { operation } = expect('the reference', await post(ref, signed[0]), 403);
  const approval = `operation_id="${operation.operation_id}", revision="${operation.revision}", approver="user", ` +
    `approved_at=${Math.floor(Date.now() / 1000)}, input_type="typed", reference="${randomUUID()}"`;
  expect('the approval', await post(ref, { ...signed[1], 'Poppy-Approval': approval }), 204);
  await pressed;
  await page.waitForLoadState();
  const answered = page.waitForResponse((r) => r.request().isNavigationRequest());
  const reloaded = page.reload();
  const again = await answered;
  if (again.status() !== 200) throw new Error(`the request made again was answered with ${again.status()}`);
  const state = expect('the look-up', await post(ref, signed[2]), 200);
  if (state.status !== 'performed') throw new Error(`the Company says ${state.status}`);
  await reloaded;
  return performance.now() - began;
}

const doing = { start, round };
for await (const line of createInterface({ input: process.stdin })) {
  const what = JSON.parse(line);
  try {
    process.stdout.write(JSON.stringify({ took: await doing[what.do](what) }) + '\n');
  } catch (error) {
    process.stdout.write(JSON.stringify({ error: String(error?.stack ?? error) }) + '\n');
  }
}
await browser?.close();
