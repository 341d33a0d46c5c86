import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';

/** What the check says where a registry answers so. */
async function checked(answer: RequestListener, seconds = 60): Promise<{ code: number | null; last: string }> {
  const registry = createServer(answer);
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    registry.closeAllConnections();
    registry.close();
  });
  const child = spawn('bash', ['.ci/advisories', `${seconds}`], {
    env: { ...process.env, npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  await once(child, 'close');
  return { code: child.exitCode, last: out.trimEnd().split('\n').at(-1) ?? '' };
}

const json = (value: unknown): RequestListener => {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };
};

test('an advisory fails the gate, none passes it', async () => {
  expect(await checked(json({}))).toEqual({ code: 0, last: 'Advisories: none of severity high or critical is known' });
  const advisory = { id: 1, url: 'https://example.com/1', title: 'A hole', severity: 'high', vulnerable_versions: '*' };
  const found = await checked((request, response) => {
    const isPackage = request.url === '/yargs';
    json(isPackage ? { name: 'yargs', versions: {} } : { yargs: [advisory] })(request, response);
  });
  expect(found.code).toBe(1);
  expect(found.last).toContain('Advisories: some are known');
});

test('a registry that refuses, breaks off or hangs is said, and no failure', async () => {
  const unchecked = { code: 0, last: 'Advisories: not checked, as the registry does not answer' };
  expect(await checked((_request, response) => response.writeHead(405).end())).toEqual(unchecked);
  expect(await checked((request) => request.socket.destroy())).toEqual(unchecked);
  expect(await checked(() => undefined, 3)).toEqual(unchecked);
});
