import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  backfill,
  exportJournal,
  exportSettlementReports,
  exportViews,
  type JournalExportOptions,
  type RunEvent,
} from '../../src/index.js';
import { millionths } from '../../src/core/numeric/decimal.js';
import { temporaryFolder } from '../app/lake-run.js';
import { early, servedShop, to } from './served.js';

const messagesOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => ('message' in event ? event.message : []));

test('exports write the files of the command, and return how many', async () => {
  const shop = await servedShop();
  const { lake } = shop;
  await backfill({ ...shop, api: '2024-06-19', from: early, to });
  await backfill({ ...shop, pipelines: ['financial-event-groups'], from: early, to });
  const folder = await temporaryFolder();

  const views = await exportViews(join(folder, 'views'), { lake, timeZone: 'Asia/Tokyo' });
  const models = await readdir(join(folder, 'views', 'models'));
  expect(views).toEqual({ status: 'done', lake, dir: join(folder, 'views'), views: models.length });
  expect(await readFile(join(folder, 'views', 'lake.sql'), 'utf8')).toContain('Asia/Tokyo');

  const events: RunEvent[] = [];
  const onEvent = (event: RunEvent): void => void events.push(event);
  const reports = await exportSettlementReports(join(folder, 'reports'), { lake, account: 'shop', onEvent });
  const written = await readdir(join(folder, 'reports'));
  expect(written.length).toBeGreaterThan(0);
  expect(reports).toMatchObject({ lake, settlements: written.length });
  expect(reports.status).toBe(reports.not_written.length === 0 ? 'done' : 'failed');
  const named = messagesOf(events).filter((message) => message.startsWith('not written: '));
  expect(named).toHaveLength(reports.not_written.length);

  const output = join(folder, 'journal.csv');
  const journal = await exportJournal(output, { lake, from: early, to, basis: 'paid' });
  const [header = '', ...lines] = (await readFile(output, 'utf8')).trimEnd().split('\n');
  expect(journal).toMatchObject({ status: 'done', lines: lines.length, files: [output] });
  expect(journal.journals).toBeGreaterThan(0);
  const sums = ['debit', 'credit'].map((name) => {
    const at = header.split(',').indexOf(name);
    return lines.reduce((sum, line) => sum + millionths(line.split(',')[at] ?? ''), 0n);
  });
  expect(sums[0]).toBe(sums[1]);

  for (const wrong of [{ mont: '2026-01' }, { basis: 'cash' }, { for: 'sage' }, { month: '2026-13' }, { since: 'x' }]) {
    await expect(exportJournal(output, { lake, ...wrong } as JournalExportOptions)).rejects.toMatchObject({
      code: 'USAGE',
    });
  }
  await expect(exportJournal('-', { lake, month: '2026-01' })).rejects.toMatchObject({ code: 'USAGE' });
  const signal = AbortSignal.abort();
  await expect(exportSettlementReports(folder, { lake, signal })).rejects.toMatchObject({ code: 'STOPPED' });
});
