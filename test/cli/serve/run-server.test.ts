import { expect, test } from 'vitest';
import { serve, type ServeOptions } from '../../../src/cli/serve/run-server.js';
import { arrayBackend, event } from '../../serve/http/array-backend.js';
import { paths, start } from '../../serve/http/client.js';
import { gate } from '../../serve/http/gate.js';
import { handClock } from '../../serve/http/hand-clock.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

const served = {
  backend: arrayBackend([event('2025-06-01', 1)]),
  name: 'an array',
  checkHealth: () => Promise.resolve({ serves: 'array' }),
};
const server = { clock: handClock(start) };

/** Runs the command until it says where it listens. */
async function started(signal: AbortSignal, more: Partial<ServeOptions> = {}) {
  const lines: string[] = [];
  const logged: string[] = [];
  const first = gate<string>();
  const print = (line: string) => {
    lines.push(line);
    first.open(line);
  };
  const emit = plainLog((line) => logged.push(line));
  const done = serve({ served, server, signal, print, emit, ...more });
  return { lines, logged, done, line: await Promise.race([first.opened, done.then(() => '')]) };
}

test('says where it listens once it takes requests, and stops with the signal', async () => {
  const stop = new AbortController();
  const { lines, line, done } = await started(stop.signal);
  expect(line).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+$/);
  const url = line.replace('listening on ', '');
  expect((await fetch(url + paths.events)).status).toBe(200);
  stop.abort();
  await done;
  expect(lines).toEqual([line]);
  await expect(fetch(url + paths.events)).rejects.toThrow();
});

test('does not start once the signal has aborted', async () => {
  expect((await started(AbortSignal.abort())).lines).toEqual([]);
});

test('stops as well when the signal aborts while it starts', async () => {
  const stop = new AbortController();
  const running = started(stop.signal);
  stop.abort();
  await (
    await running
  ).done;
});

test('closes the service when printing fails', async () => {
  let url = '';
  const print = (line: string) => {
    url = line.replace('listening on ', '');
    throw new Error('stdout is gone');
  };
  const { signal } = new AbortController();
  await expect(serve({ served, server, signal, print, emit: () => undefined })).rejects.toThrow('stdout is gone');
  await expect(fetch(url + paths.events)).rejects.toThrow();
});
