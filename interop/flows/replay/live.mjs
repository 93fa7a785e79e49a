// Makes one recording with @puppeteer/replay in a fresh Chromium, and prints what became of it as one line of JSON:
//   node live.mjs RECORDING CHROMIUM RESOLVER_RULES [--no-sandbox]
import fs from 'node:fs';
import { createRunner, parse, PuppeteerRunnerExtension } from '@puppeteer/replay';
import puppeteer from 'puppeteer-core';

const [file, chromium, rules, ...more] = process.argv.slice(2);
const LIMIT = 60000; // ms
const LATE = 500; // ms in which pages tell of the last events

const plain = (e) => String(e?.message ?? e).split('\n')[0].slice(0, 240);
const within = (promise, ms, what) => {
  let timer;
  const late = new Promise((_, no) => { timer = setTimeout(() => no(new Error(what)), ms); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};
process.on('unhandledRejection', () => {}); // of the runner's own waits, after a step has failed

const out = { outcome: 'finished', error: '' };
const flow = parse(JSON.parse(fs.readFileSync(file, 'utf8')));
const browser = await puppeteer.launch({
  executablePath: chromium, headless: true, acceptInsecureCerts: true, defaultViewport: null,
  args: ['--disable-dev-shm-usage', '--host-resolver-rules=' + rules, ...more],
});
let at = -1;
class Watch extends PuppeteerRunnerExtension {
  async runStep(step, of) { at = of.steps.indexOf(step); return super.runStep(step, of); }
}
try {
  const runner = await createRunner(flow, new Watch(browser, await browser.newPage()));
  await within(runner.run(), LIMIT, 'it did not end');
} catch (e) {
  out.outcome = e.message === 'it did not end' ? 'hung' : 'failed';
  out.failed_step = at;
  out.error = plain(e);
}
await new Promise((done) => setTimeout(done, LATE));
await within(browser.close(), 10000, 'it does not close').catch(() => browser.process()?.kill('SIGKILL'));
console.log(JSON.stringify(out));
process.exit(0);
