// buy.mjs FILE: makes the calls of FILE with the official TypeScript SDK, and prints what was as it should be.
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const { command, args, calls, tools } = JSON.parse(readFileSync(process.argv[2]));
const check = (name, ok, why) => console.log(JSON.stringify({ check: name, ok, why }));

const client = new Client({ name: 'papaver-interop', version: '1' });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
const listed = (await client.listTools()).tools.map((t) => t.name);
check('it lists the tools', listed.length === tools, `${listed.length} tools, not ${tools}`);
let heard = 0;
for (const { tool, arguments: given, status } of calls) {
  const result = await client.callTool({ name: tool, arguments: given }, undefined, { timeout: 90_000, onprogress: () => { heard++; } });
  const got = result.structuredContent?.status ?? (result.isError ? 'error' : '');
  check(`${tool} comes to ${status || 'a result'}`, !result.isError && (!status || got === status), `${got}: ${result.content?.[0]?.text}`);
}
let refused = false;
try {
  refused = (await client.callTool({ name: 'poppy_round', arguments: { approved: true } })).isError === true;
} catch {
  refused = true;
}
check('an invented argument is refused', refused, 'it was taken');
check('it hears of progress', heard > 0, 'no progress came');
await client.close();
