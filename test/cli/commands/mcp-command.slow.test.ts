import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, test } from 'vitest';
import { builtCommand } from '../../app/built-command.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { clientOf, loadAccount } from '../../app/mcp/served-lake.js';

const cli = 'dist/src/cli.js';

test('the command serves an account to a client over a pipe, and ends with its input', async () => {
  const lake = await temporaryFolder();
  for (const [account, seed] of [
    ['shop', 3],
    ['other', 7],
  ] as const)
    await loadAccount(lake, account, { seed, pipelines: ['financial-events'] });
  const words = ['mcp', '--lake', lake, '--account', 'shop', '--time-zone', 'Asia/Tokyo'];
  const transport = new StdioClientTransport({ command: process.execPath, args: [cli, ...words], stderr: 'pipe' });
  const { client, rows, call, close } = clientOf(new Client({ name: 'test', version: '1' }), () => Promise.resolve());
  await client.connect(transport);
  expect(client.getInstructions()).toContain('ledgerlake://glossary');
  expect(await rows('SELECT DISTINCT account, time_zone() FROM events')).toEqual([['shop', 'Asia/Tokyo']]);
  expect((await call('query', { sql: "COPY groups TO 'x.csv'" })).text).toMatch(/^SQL: expected one query/);
  await close();

  // What was asked before the end is answered; standard output has nothing but answers.
  const child = spawn(process.execPath, [cli, 'mcp', '--lake', lake, '--account', 'shop', '--account', 'other']);
  const ask = (method: string, params: object, id: number) =>
    `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
  const clientInfo = { name: 'test', version: '1' };
  child.stdin.end(
    ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }, 1) +
      'no JSON\n' +
      ask('tools/call', { name: 'query', arguments: { sql: 'SELECT count(DISTINCT account) FROM events' } }, 2),
  );
  const [out, log] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const answers = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: number; result: object });
  expect(answers.map(({ id }) => id)).toEqual([1, 2]);
  expect(JSON.stringify(answers[1]?.result)).toContain('[[2]]');
  expect([child.exitCode, log]).toEqual([0, expect.stringContaining(`serving ${lake}`) as string]);

  const stopped = spawn(process.execPath, [cli, 'mcp', '--lake', lake]);
  await once(stopped.stderr, 'data');
  stopped.kill('SIGINT');
  expect(await once(stopped, 'close')).toEqual([0, null]);
});

test('a lake that is not there is a wrong command line', async () => {
  const folder = await temporaryFolder();
  const { code, out, err } = await builtCommand(['mcp', '--lake', 'none'], { folder });
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(/^ledgerlake: USAGE: expected a lake at none, got none; [^\n]*\n$/);
});
