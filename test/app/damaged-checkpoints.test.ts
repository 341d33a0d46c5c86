import type { Emit } from '../../src/core/events/run-event.js';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { forget } from '../../src/app/forget/forget.js';
import { openLakeReader } from '../../src/app/query/lake-files.js';
import { report } from '../../src/app/report/report.js';
import { status } from '../../src/app/status/status.js';
import { seal } from '../../src/lake/catalog/commit.js';
import { openServedLake } from '../../src/cli/serve/serve-lake.js';
import { arrayBackend } from '../serve/http/array-backend.js';
import { Kept } from '../core/text/streams.js';
import { ran, serving } from './lake-run.js';
import { compacted } from './maintenance/kept-lake.js';
import { planText } from './plan/plan-of.js';
import { loadedLake } from './verify/loaded-lake.js';
import { plainLog } from '../../src/observe/log/plain-log.js';

test('a damaged checkpoint is said once by each command that opens the lake, until compact has written another', async () => {
  const lake = await loadedLake(undefined, [{ pipelines: ['financial-events'], from: '2025-03-01' }]);
  onTestFinished(() => {
    lake.remove();
  });
  const { root, clock } = lake;
  const { signal } = new AbortController();
  const file = `_catalog/_checkpoints/${'0'.repeat(20)}-${'a'.repeat(64)}.checkpoint`;
  const damage = (): void => {
    mkdirSync(join(root, '_catalog/_checkpoints'), { recursive: true });
    writeFileSync(join(root, file), 'what is no checkpoint');
    writeFileSync(join(root, '_catalog/_last-checkpoint'), seal({ path: file }).bytes);
  };
  const commands: Record<string, (log: (line: string) => void, emit: Emit) => Promise<unknown>> = {
    status: (_, emit) =>
      status(
        { lake: root, account: undefined, from: undefined, to: undefined, format: 'json', color: false },
        { clock, signal, output: new Kept(), emit },
      ),
    sql: (_, emit) => openLakeReader(root, clock, { emit }),
    report: (_, emit) =>
      report(
        { lake: root, account: undefined, from: undefined, to: undefined, output: '-' },
        { clock, signal, output: new Kept(), emit },
      ),
    plan: (log) =>
      planText(
        { lake: root, account: 'shop', endpoint: 'http://127.0.0.1:9', from: '2025-03-01', to: '2025-03-02' },
        clock,
        log,
      ),
    serve: async (_, emit) => {
      (await openServedLake({ lake: root }, clock, emit)).backend.close();
    },
    forget: (_, emit) =>
      forget(
        { lake: root, account: 'shop', before: undefined, yes: true },
        { clock, signal, emit, confirm: () => Promise.resolve(false) },
      ).catch((error: unknown) => error),
    compact: (log) => compacted({ lake: root }, { clock, log }),
    backfill: async (log) => {
      const endpoint = await serving({ backend: arrayBackend([]), clock });
      const range = { from: '2025-03-01', to: '2025-03-02' };
      const { logged } = await ran(
        { lake: root, endpoint, account: 'shop', pipelines: ['financial-events'], ...range },
        { clock },
      );
      logged.split('\n').forEach(log);
    },
  };
  damage();
  const said = async (name: string): Promise<string[]> => {
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    await commands[name]?.(log, plainLog(log));
    return lines.filter((line) => line.includes('checkpoint'));
  };
  const found = `the checkpoint ${file} is damaged (its bytes have changed): the commits were read instead`;
  const lineOf = (name: string) =>
    name === 'compact' ? `${found}, and a new one is written` : `${found}; \`ledgerlake compact\` writes a new one`;
  for (const name of Object.keys(commands)) {
    damage();
    expect([name, await said(name)]).toEqual([name, [lineOf(name)]]);
  }
  expect(await said('status')).toEqual([]);
});
