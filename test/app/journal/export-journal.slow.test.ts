import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { exportJournal, type JournalOptions } from '../../../src/app/journal/export-journal.js';
import type { Clock } from '../../../src/core/clock.js';
import { millionths } from '../../../src/core/numeric/decimal.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import { ran, serving, temporaryFolder } from '../lake-run.js';
import { hidingBackend, lot, setClock, synced, type Hides } from '../load/synced.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

const defaults = { basis: 'paid', for: 'generic' } as const;

/** What the command prints: the records of its CSV without the header, and its notes. */
async function exported(options: Omit<JournalOptions, 'basis' | 'for'> & Partial<JournalOptions>, clock: Clock) {
  const output = new PassThrough();
  const notes: string[] = [];
  const printed = text(output);
  const { summary } = await exportJournal(
    { ...defaults, ...options },
    { clock, signal: new AbortController().signal, emit: plainLog((line) => notes.push(line)), output },
  );
  output.end();
  return { rows: recordsOf(await printed), notes, summary };
}

/** Records of CSV without line breaks in fields, by the names of their columns. */
function recordsOf(csv: string): Record<string, string>[] {
  const [header = [], ...lines] = csv
    .trimEnd()
    .split('\n')
    .map((line) =>
      [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
        .map(([, field = '']) => field.replace(/^"(.*)"$/, '$1').replaceAll('""', '"'))
        .slice(0, -1),
    );
  return lines.map((fields) => Object.fromEntries(header.map((name, at) => [name, fields[at] ?? ''])));
}

/** The sums of lines by account of the ledger and currency; positive is debit. */
function sumsOf(rows: readonly Record<string, string>[]): Record<string, bigint> {
  const sums: Record<string, bigint> = {};
  for (const row of rows) {
    const key = `${row['currency'] ?? ''} ${row['ledger_code'] ?? ''}`;
    sums[key] = (sums[key] ?? 0n) + millionths(row['debit'] ?? '') - millionths(row['credit'] ?? '');
  }
  return Object.fromEntries(Object.entries(sums).filter(([, sum]) => sum !== 0n));
}

/** The backend, which shows an item in nine only from an instant on, and another only before it. */
function changingBackend(seller: Backend, at: number): Backend {
  const hides: Hides = (item, asOf) => (lot(item, 9) === 0 ? asOf < at : lot(item, 9) === 1 && asOf >= at);
  return hidingBackend(seller, hides);
}

test.each([
  // Without transactions both bases are equal.
  ['v0', ['paid']],
  ['2024-06-19', ['earned']],
  ['both', ['paid', 'earned']],
] as const)('what was booked and its adjustments are the journals of now (%s)', async (api, bases) => {
  const clock = setClock('2026-02-03T02:00:00Z');
  const seller = createSeller({ seed: 5, events: 1500, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend: changingBackend(seller, Date.parse('2026-02-10')), clock });
  const lake = await temporaryFolder();
  const run = { lake, endpoint, account: 'shop', api };
  await ran({ ...run, from: '2025-12-01' }, { clock });
  const month = '2026-01';
  const booked = await exported({ lake, month }, clock);
  const bookedEarned = await exported({ lake, month, basis: 'earned' }, clock);
  const since = Number(Object.entries(booked.summary).find(([name]) => name === 'version')?.[1]);
  expect(booked.notes.at(-1)).toBe(`made from version ${since} of the catalog`);
  expect(booked.rows.length).toBeGreaterThan(100);
  expect(booked.rows.every((row) => row['memo']?.endsWith(`, catalog version ${since}`))).toBe(true);

  const unchanged = await exported({ lake, month, since }, clock);
  expect(unchanged.rows).toEqual([]);
  expect(unchanged.notes.at(-2)).toMatch(/^nothing has changed since version \d+ in the journals/);
  // Settlements that began in the month are listed again: of their transfers the lake can't tell whether they were known before.
  const groups = await seller.groups(
    { start: Date.parse('2026-01-01'), end: clock.now() },
    { cursor: undefined, limit: 1e6, asOf: clock.now() },
  );
  const closed = groups.items
    .map(({ json }) => JSON.parse(json) as Readonly<Record<string, string | undefined>>)
    .filter(({ ProcessingStatus: status, FundTransferDate: date }) => status === 'Closed' && date?.startsWith(month));
  expect(closed.length).toBeGreaterThan(5);

  clock.set('2026-02-20T02:00:00Z');
  await synced({ ...run, lookBack: 80 }, { clock });
  for (const basis of bases) {
    const [now, adjusted] = [
      await exported({ lake, month, basis }, clock),
      await exported({ lake, month, basis, since }, clock),
    ];
    expect(adjusted.rows.length).toBeGreaterThan(20);
    expect(adjusted.notes).toContain(
      `WARNING: the lake has no history of transfers: those of ${closed.length} settlements that had closed by version ${since} and were listed again since are taken for known then`,
    );
    expect(sumsOf([...(basis === 'paid' ? booked : bookedEarned).rows, ...adjusted.rows])).toEqual(sumsOf(now.rows));
    expect(new Set(adjusted.rows.map((row) => `${row['date'] ?? ''} ${row['month'] ?? ''}`))).toEqual(
      new Set(['2026-02-20 2026-02']),
    );
    expect(adjusted.rows.every((row) => row['memo']?.startsWith(`Adjustment of ${month} of shop`))).toBe(true);
    // Each balances, in one currency.
    for (const journal of new Set(adjusted.rows.map((row) => row['journal']))) {
      const of = adjusted.rows.filter((row) => row['journal'] === journal);
      expect(Object.values(sumsOf(of)).reduce((sum, one) => sum + one, 0n)).toBe(0n);
      expect(new Set(of.map(({ currency }) => currency)).size).toBe(1);
    }
  }
});

test('what was booked after any load and its adjustments are the journals of now', async () => {
  const clock = setClock('2026-02-08T02:00:00Z');
  const seller = createSeller({ seed: 5, events: 400, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  const run = { lake, endpoint, account: 'shop' };
  const [listing, byDate, ofGroups] = ['financial-event-groups', 'financial-events', 'group-events'];
  const part = { ...run, from: '2025-12-20', to: '2026-01-20' };
  const whole = { ...run, from: '2025-12-01', to: '2026-02-08' };
  const steps: (() => Promise<unknown>)[] = [
    () => ran({ ...part, pipelines: [listing, byDate] }, { clock }),
    () => ran({ ...part, pipelines: [ofGroups] }, { clock }),
    () => ran({ ...whole, pipelines: [listing, byDate, ofGroups] }, { clock }),
    () => ran({ ...run, api: '2024-06-19', from: '2026-01-15', to: '2026-01-28' }, { clock }),
    // Settlements have closed and were paid since.
    () => {
      clock.set('2026-02-25T02:00:00Z');
      return synced({ ...run, api: 'both', lookBack: 80 }, { clock });
    },
    () => ran({ ...run, api: '2024-06-19', from: '2025-12-01', to: '2026-01-15' }, { clock }),
  ];
  // The basis earned has all journals of paid.
  const options = { lake, month: '2026-01', basis: 'earned' } as const;
  const booked: { since: number; rows: Record<string, string>[] }[] = [];
  for (const step of steps) {
    await step();
    const { rows, summary } = await exported(options, clock);
    const since = Number(Object.entries(summary).find(([name]) => name === 'version')?.[1]);
    booked.push({ since, rows });
    clock.set(clock.now() + 60_000);
  }
  const now = sumsOf(booked.at(-1)?.rows ?? []);
  for (const [step, { since, rows }] of booked.entries()) {
    const adjusted = await exported({ ...options, since }, clock);
    expect(sumsOf([...rows, ...adjusted.rows]), `step ${step + 1}`).toEqual(now);
    expect(adjusted.rows.length > 0, `step ${step + 1}`).toBe(step < booked.length - 1);
  }
});

test('months of the range that are not loaded are named', async () => {
  const clock = setClock('2026-02-03T02:00:00Z');
  const backend = createSeller({ seed: 5, events: 200, profile: 'plausible' }, clock);
  const run = { lake: await temporaryFolder(), endpoint: await serving({ backend, clock }), account: 'shop' };
  await ran({ ...run, from: '2025-11-01', to: '2025-12-01' }, { clock });
  await ran({ ...run, from: '2026-01-01', to: '2026-02-01' }, { clock });
  const lacks = async (days: Pick<JournalOptions, 'from' | 'to' | 'month'>) =>
    (await exported({ lake: run.lake, ...days }, clock)).notes.filter((note) => note.includes('loaded is'));
  const nothingOf = (months: string) => [
    `WARNING: shop has nothing of ${months}: loaded is 2025-11-01 to 2025-12-01, 2026-01-01 to 2026-02-01; --since adjusts its journals later`,
  ];
  expect(await lacks({ from: '2025-11-01', to: '2026-02-01' })).toEqual(nothingOf('2025-12'));
  expect(await lacks({ month: '2025-12' })).toEqual(nothingOf('2025-12'));
  expect(await lacks({ month: '2026-03' })).toEqual(nothingOf('2026-03'));
  expect(await lacks({ month: '2026-01' })).toEqual([]);
});

test('the files of programs, another chart, and what it does not name', async () => {
  const clock = setClock('2026-02-03T02:00:00Z');
  const endpoint = await serving({
    backend: createSeller({ seed: 5, events: 1500, profile: 'plausible' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  await ran({ lake, endpoint, account: 'shop', from: '2025-12-01' }, { clock });
  const dir = await temporaryFolder();
  const month = '2026-01';
  const all = await exported({ lake, month }, clock);
  expect(all.notes.at(-1)).toMatch(/^made from version \d+ of the catalog$/);
  const later = await exported({ lake, month, basis: 'earned' }, clock);
  expect(later.notes[0]).toBe(
    'WARNING: no transactions of shop are loaded, so that its journals of the basis earned equal those of paid',
  );
  expect(sumsOf(later.rows)).toEqual(sumsOf(all.rows));
  const part = /^WARNING: shop has only a part of 2026-02: loaded is .*; --since adjusts its journals later$/;
  expect((await exported({ lake, month: '2026-02' }, clock)).notes[0]).toMatch(part);

  // Two halves are the month.
  const halves = await Promise.all(
    [
      ['2026-01-01', '2026-01-16'],
      ['2026-01-16', '2026-02-01'],
    ].map(([from, to]) => exported({ lake, from, to }, clock)),
  );
  expect(halves.flatMap(({ rows }) => rows).length).toBe(all.rows.length);

  // QuickBooks: one side of each line is blank, and each number has equal sums.
  const quickbooks = await exported({ lake, month, for: 'quickbooks', output: join(dir, 'q.csv') }, clock);
  expect(quickbooks.summary).toMatchObject({ lines: all.rows.length, files: [join(dir, 'q.csv')] });
  const booked = recordsOf(await readFile(join(dir, 'q.csv'), 'utf8'));
  expect(booked.every((row) => (row['Debits'] === '') !== (row['Credits'] === ''))).toBe(true);
  expect(booked.every((row) => /^01\/\d\d\/2026$/.test(row['JournalDate'] ?? ''))).toBe(true);
  expect(new Set(booked.map((row) => row['JournalNo']))).toEqual(new Set(all.rows.map((row) => row['journal'])));

  // Xero: one currency in a file, and each narration and date adds up to 0.
  await expect(exported({ lake, month, for: 'xero' }, clock)).rejects.toThrow('expected --output FILE with --for xero');
  await exported({ lake, month, for: 'xero', output: join(dir, 'x.csv') }, clock);
  const currencies = [...new Set(all.rows.map((row) => row['currency'] ?? ''))];
  const names = (await readdir(dir)).filter((name) => name.startsWith('x'));
  expect(names.toSorted()).toEqual(currencies.map((currency) => `x-${currency}-1.csv`).toSorted());
  for (const name of names) {
    const sums = new Map<string, bigint>();
    for (const row of recordsOf(await readFile(join(dir, name), 'utf8'))) {
      const key = `${row['Narration'] ?? ''} ${row['Date'] ?? ''}`;
      sums.set(key, (sums.get(key) ?? 0n) + millionths(row['Amount'] ?? ''));
      expect(row['TaxRate']).toBe('Tax Exempt');
    }
    expect([...sums.values()].filter((sum) => sum !== 0n)).toEqual([]);
    expect(sums.size).toBeGreaterThan(1);
  }

  // A chart of a few accounts: the rest is in suspense, and each name is said with its sum.
  const chart = join(dir, 'chart.csv');
  await writeFile(
    chart,
    'kind,name,ledger_code,ledger_account\nclearing,,1,=Clearing\nbank,,2,Bank\nsuspense,,9,Suspense\nfee,Commission,5,Referral\n',
  );
  const few = await exported({ lake, month, chart }, clock);
  expect(new Set(few.rows.map((row) => row['ledger_code']))).toEqual(new Set(['1', '2', '5', '9']));
  // A spreadsheet takes no account for a formula.
  expect(few.rows.find((row) => row['ledger_code'] === '1')?.['ledger_account']).toBe("'=Clearing");
  const [sums, fewSums] = [sumsOf(all.rows), sumsOf(few.rows)];
  for (const currency of currencies) expect(fewSums[`${currency} 1`]).toBe(sums[`${currency} 1100`]);
  const said = new Map<string, bigint>();
  for (const note of few.notes) {
    const [, amount = '0', currency = ''] = /, (-?[\d.]+) (\w+), posted to suspense/.exec(note) ?? [];
    said.set(currency, (said.get(currency) ?? 0n) - millionths(amount));
  }
  for (const currency of currencies) expect(said.get(currency), currency).toBe(fewSums[`${currency} 9`] ?? 0n);

  await expect(exported({ lake, month: '2026-1' }, clock)).rejects.toThrow('expected --month YYYY-MM, got "2026-1"');
  await expect(exported({ lake, month, account: 'other' }, clock)).rejects.toThrow(
    'expected --account to be an account',
  );
  await expect(exported({ lake }, clock)).rejects.toThrow('expected --month YYYY-MM, or --from and --to');
  await expect(exported({ lake, month, since: 9999 }, clock)).rejects.toThrow('expected --since to be a version up to');
  const half = { from: '2026-01-01', to: '2026-01-16', since: 3 };
  await expect(exported({ lake, ...half }, clock)).rejects.toThrow(
    'expected --from and --to at the beginning of months',
  );
});
