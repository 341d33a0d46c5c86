import domino from '@mixmark-io/domino';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { builtCommand, type Ended } from '../app/built-command.js';
import { CommandProcess } from '../attack/command-process.js';
import { parseCsv } from '../core/text/parsed-csv.js';
import { unzipped } from '../core/text/unzipped.js';
import { everyHostileText, hostileTexts } from '../reference/hostile-texts.js';
import { answering, expectHarmless } from './hostile-text.js';

const money = (amount: number) => ({ CurrencyCode: 'USD', CurrencyAmount: amount });

/** A page with a sale and a settlement for each text, which is each id and name of theirs. */
const pages = [
  {
    FinancialEvents: {
      ShipmentEventList: everyHostileText.map((text) => ({
        AmazonOrderId: text,
        MarketplaceName: text,
        PostedDate: '2025-01-03T00:00:00Z',
        ShipmentItemList: [
          {
            SellerSKU: text,
            OrderItemId: text,
            QuantityShipped: 1,
            ItemChargeList: [{ ChargeType: text, ChargeAmount: money(5) }],
            ItemFeeList: [{ FeeType: text, FeeAmount: money(-1) }],
          },
        ],
      })),
    },
  },
  {
    FinancialEventGroupList: everyHostileText.map((text) => ({
      FinancialEventGroupId: text,
      ProcessingStatus: 'Closed',
      FundTransferStatus: text,
      OriginalTotal: money(7),
      TraceId: text,
      FinancialEventGroupStart: '2025-01-02T00:00:00Z',
      FinancialEventGroupEnd: '2025-01-04T00:00:00Z',
    })),
  },
].map((payload) => JSON.stringify({ payload }));

/** As the lake has them: UTF-8 has no lone surrogates. */
const stored = everyHostileText.map((text) => text.toWellFormed()).toSorted();

let folder = '';
const run = async (...words: string[]): Promise<Ended> => {
  const ended = await builtCommand(words, { folder });
  expect(ended.err.split('\n').some((line) => line.startsWith('    at '))).toBe(false);
  return ended;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledgerlake-outputs-'));
  await writeFile(join(folder, 'pages.ndjson'), pages.map((page) => `${page}\n`).join(''));
  const ended = await run('import', '--account', 'shop', 'pages.ndjson');
  expectHarmless(ended, 'import');
  expect(ended.code).toBe(0);
});

afterAll(() => rm(folder, { recursive: true }));

const query = "SELECT amazon_order_id AS id, sku, name, marketplace FROM entries WHERE kind = 'fee'";
describe('results of sql', () => {
  test.each(['json', 'ndjson'])('%s: JSON.parse gets every text back', async (format) => {
    const { code, out } = await run('sql', '--format', format, query);
    const parsed = (
      format === 'json'
        ? JSON.parse(out)
        : out
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line) as unknown)
    ) as { id: string }[];
    expect([code, parsed.map(({ id }) => id).toSorted()]).toEqual([0, stored]);
  });

  test('csv: another reader gets every text back', async () => {
    const { code, out } = await run('sql', '--format', 'csv', query);
    expect([
      code,
      parseCsv(out)
        .slice(1)
        .map(([id]) => id)
        .toSorted(),
    ]).toEqual([0, stored]);
  });

  test('csv-safe: no cell is a formula, whichever character separates cells', async () => {
    const { code, out } = await run('sql', '--format', 'csv-safe', query);
    const parts = parseCsv(out).flatMap((cells) => cells.flatMap((cell) => cell?.split(/[;,\t\r]/) ?? []));
    const isFormula = (part: string): boolean => /^\s*[=+@-]/.test(part) && !/^[+-][\d.]+$/.test(part);
    expect(code).toBe(0);
    expect(parts.filter(isFormula).map((part) => part.slice(0, 50))).toEqual([]);
    expect(parts.filter((part) => part.startsWith("'=")).length).toBeGreaterThan(0);
  });

  test.each(['table', 'vertical'])('%s: nothing steers a terminal', async (format) => {
    // Beside the text of a megabyte each cell of a table is as wide: half a gigabyte.
    for (const length of ['< 1000000', '>= 1000000']) {
      const ended = await run('sql', '--format', format, `${query} AND length(amazon_order_id) ${length}`);
      expect(ended.code).toBe(0);
      expectHarmless(ended, format);
    }
  });

  test('a literal with the text finds its row', async () => {
    const texts = stored.filter((text) => !text.includes('\0') && text.length < 1000);
    const literals = texts.map((text) => `('${text.replaceAll("'", "''")}')`).join(', ');
    const { out } = await run(
      ...['sql', '--format', 'json'],
      `SELECT count(*) AS found FROM events JOIN (VALUES ${literals}) AS texts (id) ON amazon_order_id = id`,
    );
    expect(JSON.parse(out)).toEqual([{ found: texts.length }]);
  });
});

describe('the report', () => {
  test('html: no text becomes markup, and nothing steers a reader', async () => {
    const { code } = await run('report', '--output', 'report.html');
    const page = await readFile(join(folder, 'report.html'), 'utf8');
    const document = domino.createDocument(page) as {
      querySelectorAll: (selector: string) => { readonly length: number };
    };
    expect(code).toBe(0);
    expect(document.querySelectorAll('script, img, iframe, [onerror], [href^="javascript:"]').length).toBe(0);
    expect(document.querySelectorAll('table').length).toBeGreaterThan(0);
    expect(/(?![\n\t])[\p{Control}\p{Surrogate}\u202a-\u202e\u2066-\u2069]/u.exec(page)?.[0]).toBe(undefined);
  });

  test('xlsx: XML 1.0 in every sheet, and no formula', async () => {
    const { code } = await run('report', '--output', 'report.xlsx');
    const files = unzipped(await readFile(join(folder, 'report.xlsx')));
    expect(code).toBe(0);
    for (const [name, xml] of files) {
      // XML 1.0, section 2.2: the characters that a document can have.
      expect([name, /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.exec(xml)?.[0]]).toEqual([
        name,
        undefined,
      ]);
      expect([name, /<f[ >]/.test(xml)]).toEqual([name, false]);
      expect([name, xml.replaceAll(/<(?:[^<>"]|"[^"<]*")*>/g, '').includes('<')]).toEqual([name, false]);
    }
  });

  test('csv: another reader takes each file', async () => {
    const { code } = await run('report', '--format', 'csv', '--output', 'tables');
    expect(code).toBe(0);
    for (const name of await readdir(join(folder, 'tables'))) {
      const [header = [], ...lines] = parseCsv(await readFile(join(folder, 'tables', name), 'utf8'));
      expect([name, lines.filter((line) => line.length !== header.length)]).toEqual([name, []]);
    }
  });
});

test.each(Object.entries(hostileTexts))(
  'a name of an account, a file or a lake that is %s works, or is refused in a line',
  async (_, texts) => {
    const commands = new CommandProcess({ folder, environment: {}, hangMs: 60_000 });
    onTestFinished(() => {
      commands.close();
    });
    // An argument can have no NUL, and Linux takes 128 kB.
    for (const text of texts.filter((one) => !one.includes('\0') && one.length < 1000 && one.isWellFormed())) {
      for (const words of [
        ['status', `--account=${text}`],
        ['sql', `--output=names/${text}`, 'SELECT 1'],
        ['status', `--lake=${text}`],
      ]) {
        const ended = await commands.run(words);
        expectHarmless(ended, JSON.stringify(words));
        expect([words, ended.died, ended.hung]).toEqual([words, false, false]);
        expect([words, [0, 1, 2]]).toEqual([words, expect.arrayContaining([ended.code]) as number[]]);
        expect([words, ended.code !== 0 && ended.err === '']).toEqual([words, false]);
      }
    }
  },
);

test('metrics: Prometheus reads each line of the file, whatever a service answers', async () => {
  const texts = everyHostileText.filter((text) => text.length < 1000).join('');
  const refusal = { errors: [{ code: texts, message: texts, details: texts }] };
  const endpoint = await answering((path) => ({ status: path.includes('Groups') ? 400 : 403, body: refusal }));
  const range = ['--from', '2025-01-01', '--to', '2025-01-10'];
  const ended = await run('backfill', '--account=shop', '--endpoint', endpoint, ...range, '--metrics-file', 'run.prom');
  expect(ended.code).toBe(1);
  expectHarmless(ended, 'backfill');
  const lines = (await readFile(join(folder, 'run.prom'), 'utf8')).trimEnd().split('\n');
  // The text format 0.0.4: comments, and a name with labels, of which backslash, quote and line feed are escaped, and a number.
  const labels = /\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*\}/;
  const sample = new RegExp(
    `^(?:# (?:HELP|TYPE) .*|[a-zA-Z_:][\\w:]*(?:${labels.source})? (?:[-+.\\deE]+|NaN|[-+]Inf))$`,
  );
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.filter((line) => line !== '' && !sample.test(line))).toEqual([]);
});
