import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { questionNames } from '../../../src/app/query/question-names.js';
import { builtCommand } from '../../app/built-command.js';
import { ran, serving, temporaryFolder } from '../../app/lake-run.js';
import { setClock } from '../../app/load/synced.js';
import { sheetIn } from '../../core/text/unzipped.js';

const clock = setClock('2026-03-10T02:00:00Z');

test('ask lists the questions, answers one, and prints its query, which sql runs', async () => {
  const folder = await temporaryFolder();
  const seller = createSeller({ seed: 5, events: 300, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  await ran({ lake: join(folder, 'lake'), endpoint, account: 'shop', from: '2026-01-01' }, { clock });
  const run = (...words: string[]) => builtCommand([...words, '--lake', 'lake'], { folder });

  const listed = await run('ask', '--format', 'json');
  const questions = JSON.parse(listed.out) as readonly Readonly<Record<string, string>>[];
  expect([listed.code, questions.map(({ question }) => question)]).toEqual([0, [...questionNames]]);

  const asked = ['ask', 'largest-fees', '--param', 'limit=2', '--param', 'month=2026-03', '--format', 'csv'];
  const [answer, query, file] = await Promise.all([
    run(...asked),
    run(...asked, '--sql'),
    run(...asked.slice(0, -2), '-o', 'fees.xlsx'),
  ]);
  expect([answer.code, query.code, file.code]).toEqual([0, 0, 0]);
  expect(answer.out).toMatch(/^account,currency,fee,times,total,rate\nshop,CAD,\w+,\d+,-\d+\.\d{6},\d+\.\d\n/);
  expect(answer.err).toMatch(/^WARNING: shop has only a part of 2026-03: loaded is 2026-01-01 to 2026-03-10T/);
  const again = await run('sql', query.out, '--format', 'csv');
  expect([again.code, again.out]).toEqual([0, answer.out]);
  const sheet = sheetIn(await readFile(join(folder, 'fees.xlsx')));
  expect(sheet.match(/<row>/g)).toHaveLength(answer.out.trimEnd().split('\n').length);

  const refused = await Promise.all([
    run('ask', 'larges-fees'),
    run('ask', 'fee-rate', '--param', 'month=2026-01'),
    run('ask', '--sql'),
    run('ask', 'profit-by-sku', '--costs', 'none.csv'),
  ]);
  expect(refused.map(({ code, out }) => [code, out])).toEqual(refused.map(() => [2, '']));
  expect(refused.map(({ err }) => err.trimEnd())).toEqual([
    expect.stringContaining('expected the name of a question, got "larges-fees"; did you mean largest-fees?'),
    expect.stringContaining('expected a parameter of fee-rate (from), got "month"'),
    expect.stringContaining('expected the name of a question, got none; `ledgerlake ask` alone lists them'),
    expect.stringContaining('expected unit costs in none.csv, got ENOENT'),
  ]);
});

test('the query that ask prints is the one that it runs: for the same accounts and months, with the same notes', async () => {
  const folder = await temporaryFolder();
  const seller = createSeller({ seed: 5, events: 200, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const lake = join(folder, 'lake');
  await ran({ lake, endpoint, account: 'early', from: '2026-01-01', to: '2026-02-01' }, { clock });
  await ran({ lake, endpoint, account: 'late', from: '2026-01-01', to: '2026-03-01' }, { clock });
  const run = (...words: string[]) => builtCommand([...words, '--lake', 'lake', '--format', 'csv'], { folder });

  const asked = ['ask', 'profit-by-sku', '--account', 'early'];
  const [answer, query] = await Promise.all([run(...asked), run(...asked, '--sql')]);
  expect([answer.code, query.code]).toEqual([0, 0]);
  expect(query.out).toContain('-- month: "2026-01"\n');
  expect(query.err).toBe(answer.err);
  const again = await run('sql', query.out, '--account', 'early');
  expect([again.code, again.out]).toEqual([0, answer.out]);

  const all = await Promise.all([run('ask', 'profit-by-sku'), run('ask', 'profit-by-sku', '--sql')]);
  expect(all[1].out).toContain('-- month: "2026-02"\n');
  expect(all[1].err).toContain('WARNING: early has nothing of 2026-02: loaded is 2026-01-01 to 2026-02-01');
  expect(all[1].err).toBe(all[0].err);

  const unknown = ['ask', 'profit-by-sku', '--account', 'earlt'];
  const refused = await Promise.all([run(...unknown), run(...unknown, '--sql')]);
  expect(refused.map(({ code, out }) => [code, out])).toEqual([
    [2, ''],
    [2, ''],
  ]);
  expect(refused[1].err).toContain('did you mean early?');
  expect(refused[1].err).toBe(refused[0].err);
});
