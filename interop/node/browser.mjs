// A browser that can do just what a sign-in page needs: follow redirects, keep cookies, send a page's form. All names are
// reached at one address, over TLS.
import { request } from "node:https";

export class Browser {
  #cookies = new Map(); // host -> name -> value
  constructor(reach) {
    this.reach = reach; // { names: {name: [address, port]}, ca }
  }

  exchange(url, { method = "GET", headers = {}, body } = {}) {
    const { hostname, pathname, search } = new URL(url);
    const [host, port] = this.reach.names[hostname] ?? [];
    if (!host) return Promise.reject(new Error(`${hostname} is no name of this test`));
    return new Promise((resolve, reject) => {
      const sent = request(
        { host, port, servername: hostname, ca: this.reach.ca, method, path: pathname + search, headers: { host: hostname, ...headers }, agent: false },
        (answer) => {
          const parts = [];
          answer.on("data", (part) => parts.push(part));
          answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text: Buffer.concat(parts).toString() }));
          answer.on("error", reject);
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  }

  async #visit(url, options = {}) {
    const { hostname } = new URL(url);
    const jar = this.#cookies.get(hostname) ?? new Map();
    this.#cookies.set(hostname, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await this.exchange(url, { ...options, headers: { ...options.headers, ...(cookie && { cookie }) } });
    for (const line of answer.headers["set-cookie"] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (/expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }

  // open follows redirects until a page comes, or an address that no name is for, as that of the agent's callback.
  async open(url, options) {
    let at = url;
    for (let hops = 0; hops < 20; hops++) {
      if (!this.reach.names[new URL(at).hostname]) return { url: at };
      const answer = await this.#visit(at, hops === 0 ? options : undefined);
      if (answer.status < 300 || answer.status > 399) return { url: at, ...answer };
      at = new URL(answer.headers.location, at).href;
    }
    throw new Error("too many redirects");
  }

  // submit sends a page's first form with its hidden fields, and those given.
  submit(page, fields) {
    const action = /<form[^>]*action="([^"]*)"/.exec(page.text)?.[1];
    if (action === undefined) throw new Error(`no form at ${page.url} (${page.status}): ${page.text.replace(/<style[^]*?<\/style>|<[^>]*>/g, " ").replace(/\s+/g, " ").slice(0, 300)}`);
    const form = new URLSearchParams();
    for (const [input] of page.text.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
      form.set(/name="([^"]*)"/.exec(input)[1], /value="([^"]*)"/.exec(input)?.[1] ?? "");
    }
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    return this.open(new URL(action, page.url).href, {
      method: "POST", headers: { "content-type": "application/x-www-form-urlencoded", origin: new URL(page.url).origin }, body: form.toString(),
    });
  }
}
