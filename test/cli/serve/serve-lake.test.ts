import { readdir, rename, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openServedLake } from '../../../src/cli/serve/serve-lake.js';
import { serve } from '../../../src/cli/serve/run-server.js';
import { clockAt, ran, serving, temporaryFolder } from '../../app/lake-run.js';
import { arrayBackend, event } from '../../serve/http/array-backend.js';
import { paths } from '../../serve/http/client.js';
import { gate } from '../../serve/http/gate.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

const clock = clockAt('2026-03-15T12:00:00Z');
const asked = `${paths.events}?PostedAfter=2026-02-01`;

/** A lake of one event behind a service, until the test is over. */
async function servedLake() {
  const lake = `${await temporaryFolder()}/lake`;
  const at = Date.parse('2026-02-01T10:00:00Z');
  const item = event(at, 0, { json: JSON.stringify({ id: 1, PostedDate: new Date(at).toISOString() }) });
  const endpoint = await serving({ backend: arrayBackend([item]), clock });
  const options = { from: '2026-02-01', to: '2026-02-03', pipelines: ['financial-events'] };
  await ran({ lake, endpoint, account: 'shop', ...options }, { clock });

  const logged: string[] = [];
  const emit = plainLog((line) => logged.push(line));
  const { backend, ...served } = await openServedLake({ lake }, clock, emit);
  const stop = new AbortController();
  const listening = gate<string>();
  const running = serve({
    served: { backend, name: 'a lake', ...served },
    server: { clock },
    signal: stop.signal,
    print: listening.open,
    emit,
  });
  const stopped = async () => {
    stop.abort();
    await running;
  };
  onTestFinished(async () => {
    await stopped();
    backend.close();
  });
  const url = (await listening.opened).replace('listening on ', '');
  const get = async (path: string) => {
    const response = await fetch(url + path);
    return { status: response.status, text: await response.text() };
  };
  return { lake, get, logged, stopped };
}

test('answers 503 and 500 while the lake is gone, and what it holds once it is back', async () => {
  const { lake, get, logged } = await servedLake();
  expect(await get('/healthz')).toMatchObject({ status: 200 });
  const before = await get(asked);
  expect(before).toMatchObject({ status: 200, text: expect.stringContaining('PostedDate') as string });

  await rename(lake, `${lake}-away`);
  for (let time = 0; time < 2; time++) {
    expect(await get('/healthz')).toMatchObject({ status: 503 });
    expect(await get(asked)).toMatchObject({ status: 500 });
    expect((await get('/')).text).toContain("The report can't be shown");
  }
  expect(logged.join('\n')).toMatch(/expected version \d+ of the catalog in .*\/_catalog, got none/);

  await rename(`${lake}-away`, lake);
  expect(await get('/healthz')).toMatchObject({ status: 200 });
  expect(await get(asked)).toEqual(before);
});

test('names a data file that was cut, and the command that mends it, in its log', async () => {
  const { lake, get, logged, stopped } = await servedLake();
  const names = await readdir(join(lake, 'events'), { recursive: true });
  const name = names.find((path) => path.endsWith('.parquet') && !path.startsWith('_')) ?? '';
  await truncate(join(lake, 'events', name), 500);
  for (let time = 0; time < 2; time++) expect(await get(asked)).toMatchObject({ status: 500 });
  await stopped();
  const lines = logged.filter((line) => /^request \S+ failed: /.test(line));
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    expect(line).toContain(`expected the file ${join(lake, 'events', name)} (window/`);
    expect(line).toContain('run `ledgerlake backfill financial-events ');
  }
});
