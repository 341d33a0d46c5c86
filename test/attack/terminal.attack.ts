import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtCommand, type Ended } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';
import { answering, expectHarmless, hostile, hostileAnswers } from '../cli/hostile-text.js';

const range = ['--from', '2025-01-01', '--to', '2025-01-10'];

test('every command writes and works with a lake whose ids and names hold NUL, escapes and forged lines', async () => {
  const folder = await temporaryFolder();
  let tried = 0;
  let answers = hostileAnswers(hostile);
  const endpoint = await answering((path) => ({ body: answers(path) }));
  const run = async (code: number, ...words: string[]): Promise<Ended> => {
    const ended = await builtCommand(words, { folder });
    const what = words.join(' ');
    expectHarmless(ended, what);
    tried++;
    expect([what, ended.code, ended.code === code ? '' : ended.err]).toEqual([what, code, '']);
    return ended;
  };
  const source = ['--account', 'shop', '--endpoint', endpoint, '--rate', '1000', '--burst', '1000'];
  await run(0, 'backfill', ...source, ...range, '--json');
  answers = hostileAnswers(hostile, 6);
  const refreshed = await run(0, 'backfill', ...source, ...range, '--refresh', '--verbose');
  expect(refreshed.out).toContain('Changed since it was read last');
  await run(0, 'plan', ...source, '--from', '2025-01-01', '--to', '2025-02-01');
  await run(0, 'status');
  await run(0, 'status', '--format', 'json');
  const verified = await builtCommand(['verify'], { folder });
  expectHarmless(verified, 'verify');
  for (const format of ['table', 'ndjson']) {
    for (const table of ['events', 'entries', 'group_events', 'groups', 'event_history']) {
      await run(0, 'sql', '--format', format, `FROM ${table}`);
    }
  }
  const { out } = await run(0, 'sql', '--format', 'json', 'SELECT amazon_order_id FROM group_events LIMIT 1');
  expect(JSON.parse(out)).toEqual([{ amazon_order_id: hostile('order').replace('\ud800', '\ufffd') }]);
  await run(1, 'sql', 'SELECT amazon_order_id::INTEGER FROM events');
  await run(0, 'report', '--output', 'report.html');
  const page = await readFile(join(folder, 'report.html'), 'utf8');
  expect(/(?![\n\t])[\p{Control}\p{Surrogate}\ufffe\uffff]/u.exec(page)?.[0]).toBe(undefined);
  expect(page).not.toContain('<wbr>');
  await run(0, 'compact');
  await run(0, 'rebuild');
  await run(0, 'report', '--output', 'report.html');
  await run(0, 'sync', ...source, '--log-format', 'json', '--verbose');
  const whole = await builtCommand(['verify'], { folder });
  expect([whole.code, whole.out.split('\n').filter((line) => line.includes('failed'))]).toEqual([
    verified.code,
    verified.out.split('\n').filter((line) => line.includes('failed')),
  ]);
  await run(0, 'forget', '--account', 'shop', '--yes');
  console.log(`hostile texts in every field: ${tried} commands tried, all held`);
});
