import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runSql, type RunSqlOptions } from '../../../src/cli/sql-shell/run-sql.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { entriesQuery, lakeFolder, tables, type LakeFolder } from '../../core/duckdb/lake-fixture.js';
import { Kept } from '../../core/text/streams.js';
import { sheetIn } from '../../core/text/unzipped.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { wholeLake } from '../../app/query/whole-lake.js';
import type { LakeFiles } from '../../../src/core/duckdb/views.js';
import { failureOf } from '../../failure-of.js';

let folder: LakeFolder;
let files: LakeFiles;
beforeAll(async () => {
  folder = lakeFolder();
  files = new Map([
    ['entries', [await folder.write('entries/account=a/month=2025-03/f.parquet', entriesQuery('f', 3))]],
  ]);
});
afterAll(() => {
  folder.remove();
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command to its end; without `query` the input is the shell's. */
async function sql(options: Partial<RunSqlOptions> & { readonly typed?: string }): Promise<Ran> {
  const output = new Kept();
  const errorOutput = new Kept();
  const code = await runSql({
    ...wholeLake,
    format: 'csv',
    scope: { lake: 'data/lake' },
    lakeFiles: () => Promise.resolve(files),
    tables,
    input: Readable.from([options.typed ?? '']),
    output,
    errorOutput,
    ...options,
  });
  return { code, out: output.text, err: errorOutput.text };
}

describe('views over those of the tables', () => {
  // It can't be created twice.
  const doubled = 'CREATE VIEW doubled AS SELECT 2 * amount AS twice FROM entries';
  const macrosFor = (statement = 'doubled') => (statement.includes('doubled') ? [doubled] : []);

  test('are created before the first statement that may read one, and stay', async () => {
    const query = 'SELECT 1; SELECT count(*) AS n FROM doubled; SELECT count(*) AS n FROM doubled';
    expect((await sql({ macrosFor, query, format: 'ndjson' })).out).toBe('{"1":1}\n{"n":3}\n{"n":3}\n');
  });

  test('are suggested for a misspelt name, and are there again after a transaction that is undone', async () => {
    const misspelt = await failureOf(sql({ macrosFor, query: 'FROM double' }));
    expect(misspelt.message).toContain('doubled');
    const undone = 'BEGIN; FROM doubled LIMIT 0; ROLLBACK; SELECT count(*) AS n FROM doubled';
    expect((await sql({ macrosFor, query: undone, format: 'ndjson' })).out).toBe('{"n":3}\n');
  });
});

describe('a query', () => {
  test('has its notes before the result, on a terminal in lines of its width', async () => {
    const note = `WARNING: ${'nothing of it is loaded yet, '.repeat(4)}so load it`;
    const errorOutput = new Kept(60);
    await sql({ query: 'SELECT 1', notesOn: () => [note], errorOutput });
    const lines = errorOutput.text.trimEnd().split('\n');
    expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toBe(note);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60);
    expect((await sql({ query: 'SELECT 1', notesOn: () => [note] })).err).toBe(`${note}\n`);
  });

  test('on a terminal stops after some hundred rows and says so; elsewhere, and in another format, it does not', async () => {
    const rows = (count: number) => `SELECT * FROM range(${count})`;
    const lines = ({ text }: Kept) => text.trimEnd().split('\n').length;
    const output = new Kept(80);
    const { err } = await sql({ query: rows(100_000), format: 'table', output });
    expect(lines(output)).toBe(500 + 4);
    expect(output.text).not.toContain('rows');
    expect(err).toMatch(/^the first 500 rows: .*\n$/);
    const few = new Kept(80);
    expect((await sql({ query: rows(500), format: 'table', output: few })).err).toBe('');
    expect(few.text).toMatch(/\n500 rows\n$/);
    const csv = new Kept(80);
    await sql({ query: rows(2000), format: 'csv', output: csv });
    expect(lines(csv)).toBe(2001);
    expect((await sql({ query: rows(2000), format: 'table' })).out).toMatch(/\n2,000 rows\n$/);
  });

  test('gives rows below each other in the format vertical, which a table says that is too wide', async () => {
    const query =
      "SELECT 1234.5::DECIMAL(18,6) AS amount, 'JPY' AS currency, NULL AS nothing, repeat('x', 100) AS long, 'a\nb' AS \"a very long name\" FROM range(2)";
    const row = (number: number) =>
      `── row ${number} ${'─'.repeat(31)}\namount           │ 1234\ncurrency         │ JPY\nnothing          │ NULL\n` +
      `long             │ ${'x'.repeat(100)}\na very long name │ a\\nb\n`;
    const output = new Kept(40);
    await sql({ query, format: 'vertical', output });
    expect(output.text).toBe(
      `${row(1)}${row(2)}2 rows\n2 amounts rounded to the currency's digits (exactly 1234.5, 1234.5): csv and json are exact\n`,
    );
    expect((await sql({ typed: `.format vertical\n${query}` })).out).toBe(output.text);
    expect((await sql({ query: 'SELECT 1 AS x WHERE false', format: 'vertical' })).out).toBe('0 rows\n');
    const table = new Kept(40);
    await sql({ query, format: 'table', output: table });
    expect(table.text.replaceAll('\n', ' ')).toMatch(
      /no room for .*: .* or the format vertical \(--format, in the shell \.format\) shows them /,
    );
  });

  test('is answered from the lake, exactly', async () => {
    const query = 'SELECT account, month, sum(amount) AS total, max(quantity) AS most FROM entries GROUP BY ALL';
    expect(await sql({ query })).toEqual({
      code: 0,
      out: 'account,month,total,most\na,2025-03,37.037034,9007199254740995\n',
      err: '',
    });
    expect((await sql({ query, format: 'json' })).out).toBe(
      '[\n{"account":"a","month":"2025-03","total":37.037034,"most":9007199254740995}\n]\n',
    );
  });

  test('may be several statements, of which each result is printed', async () => {
    const query = `CREATE TABLE t AS SELECT ';' AS a; SELECT 1 AS b; /* more */ (SELECT * FROM t); -- done`;
    expect((await sql({ query, format: 'ndjson' })).out).toBe('{"b":1}\n{"a":";"}\n');
    const { out } = await sql({ query, format: 'table' });
    expect(out).toMatch(/^┌─+┐\n│ b │\n[^]*\n1 row\n┌─+┐\n│ a │\n[^]*\n1 row\n$/);
  });

  test('may have one result where the format or a file takes one, before anything is run', async () => {
    const query = `CREATE TABLE t AS SELECT ';' AS a; FROM t; INSERT INTO t VALUES ('b'); -- done`;
    expect((await sql({ query })).out).toBe('a\n;\n');
    const two = 'SELECT 1; WITH x AS (SELECT 2) FROM x';
    for (const format of ['csv', 'csv-safe', 'json'] as const) {
      const output = new Kept();
      const { exitCode, message } = await failureOf(sql({ query: two, format, output }));
      expect([exitCode, output.text, message]).toEqual([
        2,
        '',
        expect.stringContaining(`one query for --format ${format}, got 2`),
      ]);
    }
    const own = await temporaryFolder();
    const { exitCode } = await failureOf(sql({ query: two, format: 'ndjson', outputFile: join(own, 'out.ndjson') }));
    expect([exitCode, readdirSync(own)]).toEqual([2, []]);
  });

  test.each([
    'DROP TABLE entries',
    'INSERT INTO entries FROM entries',
    'UPDATE entries SET amount = 1',
    'DELETE FROM entries',
    'TRUNCATE entries',
    'ALTER TABLE entries ADD COLUMN x INTEGER',
    'CREATE TABLE entries (x INTEGER)',
  ])('%s says that the lake is read only', async (query) => {
    const { code, message } = await failureOf(sql({ query }));
    expect([code, message]).toEqual([
      'SQL',
      expect.stringMatching(/^the lake is read only here, and its tables are views: (?:Catalog|Binder) Error: /),
    ]);
    expect(
      (await sql({ query: 'CREATE TABLE mine AS SELECT 1 AS x; INSERT INTO mine VALUES (2); FROM mine' })).out,
    ).toBe('x\n1\n2\n');
  });

  test('that fails is DuckDB’s error, and nothing is printed', async () => {
    const output = new Kept();
    const error = await failureOf(sql({ query: 'SELECT nothing FROM entries', output, format: 'json' }));
    expect([error.code, error.exitCode, output.text]).toEqual(['SQL', 1, '']);
    expect(error.message).toMatch(/^Binder Error: .*LINE 1: SELECT nothing FROM entries\n {15}\^$/s);
  });

  test('without a statement is the user’s mistake', async () => {
    expect((await failureOf(sql({ query: ' ; -- ' }))).exitCode).toBe(2);
    const { exitCode, message } = await failureOf(sql({ query: '.tables' }));
    expect([exitCode, message]).toEqual([
      2,
      expect.stringMatching(/^expected SQL, got \.tables; .* only in the shell/),
    ]);
  });

  test('can write files; what it wrote stands on stderr', async () => {
    const target = `${folder.root}/out.csv`;
    expect(await sql({ query: `COPY (FROM entries) TO '${target}'`, format: 'json' })).toEqual({
      code: 0,
      out: '',
      err: '3 rows written\n',
    });
    expect((await sql({ query: `SELECT count(*) AS n FROM '${target}'` })).out).toBe('n\n3\n');
  });

  test('that explains is drawn, not put into a table', async () => {
    const { out } = await sql({ query: 'EXPLAIN SELECT 1', format: 'table' });
    expect(out).toMatch(/^┌─+┐\n│ +PROJECTION +│\n/);
  });

  test('ends quietly when the reader has enough', async () => {
    const reader = spawn('head', ['-n', '1'], { stdio: ['pipe', 'pipe', 'inherit'] });
    let read = '';
    reader.stdout.on('data', (data: Buffer) => (read += data.toString()));
    expect(
      (await sql({ query: 'SELECT a.range FROM range(1000000) a, range(1000) b', output: reader.stdin })).code,
    ).toBe(0);
    if (reader.exitCode === null) await once(reader, 'close');
    expect(read).toBe('range\n');
  });

  test('goes to a file, in place of what was there, only when it is whole', async () => {
    const own = await temporaryFolder();
    const outputFile = join(own, 'out.csv');
    writeFileSync(outputFile, 'before');
    const failing = "SELECT CASE WHEN range = 5000 THEN error('late') END AS x FROM range(10000)";
    expect((await failureOf(sql({ query: failing, outputFile }))).message).toContain('late');
    expect(readFileSync(outputFile, 'utf8')).toBe('before');
    const three = { query: 'SELECT range AS x FROM range(3)', outputFile };
    expect(await sql(three)).toEqual({ code: 0, out: '', err: '' });
    const err = `wrote ${outputFile}, 3 rows\n`;
    expect(await sql({ ...three, reportsFile: true })).toEqual({ code: 0, out: '', err });
    expect(readFileSync(outputFile, 'utf8')).toBe('x\n0\n1\n2\n');
    for (const nowhere of [own, '/dev/null', join(own, 'no/such/folder')]) {
      expect((await failureOf(sql({ query: 'SELECT 1', outputFile: nowhere }))).exitCode).toBe(2);
    }
    expect(readdirSync(own)).toEqual(['out.csv']);
  });

  test('goes to Parquet and to a workbook with all digits', async () => {
    const own = await temporaryFolder();
    const [parquet, xlsx] = [join(own, 'a.parquet'), join(own, 'a.xlsx')];
    // The sum of a BIGINT is wider than any integer of Parquet.
    const query =
      "SELECT 12345678901234567890123456789012.000001::DECIMAL(38,6) AS amount, 'JPY' AS currency, sum(quantity) AS sum, max(quantity) AS sum " +
      'FROM entries ORDER BY 1 -- done';
    const written = { format: undefined, query, reportsFile: true };
    const { err } = await sql({ ...written, outputFile: parquet });
    expect(err).toBe(`wrote ${parquet}, 1 row\n`);
    const { out } = await sql({ query: `SELECT *, typeof(sum) AS type FROM '${parquet}'`, format: 'ndjson' });
    const [{ sum }] = JSON.parse(
      `[${(await sql({ query: 'SELECT sum(quantity)::VARCHAR AS sum FROM entries', format: 'ndjson' })).out}]`,
    ) as [{ sum: string }];
    expect(out).toBe(
      `{"amount":12345678901234567890123456789012.000001,"currency":"JPY","sum":${sum},"sum_1":9007199254740995,"type":"DECIMAL(38,0)"}\n`,
    );
    await sql({ ...written, outputFile: xlsx });
    const sheet = sheetIn(readFileSync(xlsx));
    expect(sheet).toContain(`<c s="2"><v>12345678901234567890123456789012.000001</v></c>`);
    expect(sheet).toContain(`<c><v>${sum}</v></c><c><v>9007199254740995</v></c></row></sheetData>`);
    expect(readFileSync(xlsx).includes('ledgerlake report')).toBe(false);
  });

  test.each(['parquet', 'xlsx'])('goes to .%s only when it is whole, and only with a result', async (ending) => {
    const own = await temporaryFolder();
    const outputFile = join(own, `out.${ending}`);
    writeFileSync(outputFile, 'before');
    const failing = "SELECT CASE WHEN range = 5000 THEN error('late') END AS x FROM range(10000)";
    expect((await failureOf(sql({ format: undefined, query: failing, outputFile }))).message).toContain('late');
    const { exitCode } = await failureOf(sql({ format: undefined, query: 'CREATE TABLE t AS SELECT 1', outputFile }));
    expect([exitCode, readFileSync(outputFile, 'utf8'), readdirSync(own)]).toEqual([2, 'before', [`out.${ending}`]]);
    const typed = `.output ${outputFile}\nSELECT error('no');\nSELECT 1 AS x;\nSELECT 2 AS x;\n.output\n`;
    const { err } = await sql({ format: undefined, typed });
    expect(err).toMatch(/^Invalid Input Error: no\nexpected one query for .*, got another one; .*\nwrote .*, 1 row\n$/);
    expect(readdirSync(own)).toEqual([`out.${ending}`]);
    const kept = `.output ${outputFile}\nSELECT 7 AS x;\nSELECT 2 AS x;\nDROP TABLE none;\n.output\n`;
    expect((await sql({ format: undefined, typed: kept })).err).toMatch(
      /got another one; .*Catalog Error: .*wrote .*, 1 row\n$/s,
    );
    if (ending === 'parquet') expect((await sql({ query: `FROM '${outputFile}'`, format: 'csv' })).out).toBe('x\n7\n');
    else expect(sheetIn(readFileSync(outputFile))).toContain('<v>7</v>');
    const unused = join(own, `unused.${ending}`);
    const none = await sql({ format: undefined, typed: `.output ${unused}\n.format\n.output\n` });
    expect([none.out, none.err]).toEqual([`${ending}\n`, `no result for ${unused}, so it was not written\n`]);
    expect(readdirSync(own)).toEqual([`out.${ending}`]);
  });

  test('reads parameters as texts that DuckDB converts', async () => {
    const parameters = { n: '2', month: "2025-03'; --" };
    const query =
      'SELECT $month AS month, range FROM range(5) WHERE range < $n; SELECT count(*) AS c FROM entries LIMIT $n';
    expect((await sql({ query, parameters, format: 'ndjson' })).out).toBe(
      `{"month":"2025-03'; --","range":0}\n{"month":"2025-03'; --","range":1}\n{"c":3}\n`,
    );
    const typed = await sql({ typed: 'SELECT $n AS n;\nSELECT $nothing AS x;\n', parameters });
    expect([typed.out, typed.err]).toEqual([
      'n\n2\n',
      'expected a value for $nothing, got none; add --param nothing=VALUE\n',
    ]);
    expect((await sql({ typed: 'PREPARE p AS SELECT $1 AS x;\nEXECUTE p(3);\n' })).out).toBe('x\n3\n');
    for (const [given, expected] of [
      [{ n: '1' }, 'expected a value for $month, got none; add --param month=VALUE'],
      [{ ...parameters, no: '1' }, 'expected --param for a parameter of the query, got no; the query has $month, $n'],
    ] as const) {
      const { exitCode, message } = await failureOf(sql({ query, parameters: given, format: 'ndjson' }));
      expect([exitCode, message]).toEqual([2, expected]);
    }
  });

  test('goes through a link to the file that it leads to', async () => {
    const own = await temporaryFolder();
    writeFileSync(join(own, 'real.csv'), 'before');
    symlinkSync('real.csv', join(own, 'link.csv'));
    await sql({ query: 'SELECT 1 AS x', outputFile: join(own, 'link.csv') });
    expect(readFileSync(join(own, 'real.csv'), 'utf8')).toBe('x\n1\n');
    expect(readdirSync(own)).toEqual(['link.csv', 'real.csv']);
  });

  test('stops with the signal', async () => {
    const controller = new AbortController();
    const query = 'SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b';
    const running = failureOf(sql({ query, signal: controller.signal }));
    setImmediate(() => {
      controller.abort();
    });
    expect((await running).code).toBe('STOPPED');
  });
});

describe('the lake', () => {
  test('that is empty has all tables, and a hint on stderr says how to load it', async () => {
    expect(
      await sql({ query: 'SELECT count(*) AS n FROM events', lakeFiles: () => Promise.resolve(new Map()) }),
    ).toEqual({
      code: 0,
      out: 'n\n0\n',
      err: 'The lake data/lake is empty: `ledgerlake status --lake data/lake` names the command that loads it.\n',
    });
  });

  test.each([
    ['before the views are made', 1],
    ['while the shell is open', 2],
  ])('whose file is replaced %s is read at its newest version', async (_, replacedAt) => {
    const old = await folder.write(`entries/account=a/month=2025-04/old-${replacedAt}.parquet`, entriesQuery('old', 1));
    const newer = await folder.write(
      `entries/account=a/month=2025-04/new-${replacedAt}.parquet`,
      entriesQuery('new', 2),
    );
    let asked = 0;
    const lakeFiles = (): Promise<LakeFiles> => {
      asked++;
      if (asked === replacedAt && replacedAt === 1) rmSync(old);
      return Promise.resolve(new Map([['entries', [asked === 1 ? old : newer]]]));
    };
    const input = new PassThrough();
    const output = new Kept();
    const running = sql({ lakeFiles, input, output });
    input.write('SELECT count(*) AS before FROM entries;\n');
    while (!output.text.includes('before')) await new Promise(setImmediate);
    if (replacedAt === 2) rmSync(old);
    input.end('SELECT count(*) AS after FROM entries;\n');
    expect((await running).code).toBe(0);
    expect(output.text).toBe(`before\n${replacedAt === 1 ? 2 : 1}\nafter\n2\n`);
    expect(asked).toBe(2);
  });
});

describe('the shell', () => {
  test('runs each statement up to its semicolon, and the last one at the end of the input', async () => {
    const typed = `SELECT 1 AS one; SELECT\n  'a;\nb' AS two -- ;\n;\n\nSELECT 3 AS three`;
    expect(await sql({ typed })).toEqual({ code: 0, out: 'one\n1\ntwo\n"a;\nb"\nthree\n3\n', err: '' });
  });

  test('goes on after an error, and exits 1', async () => {
    const { code, out, err } = await sql({ typed: 'SELECT 1 AS one;\nSELEC;\nSELECT 2 AS two;' });
    expect(code).toBe(1);
    expect(out).toBe('one\n1\ntwo\n2\n');
    expect(err).toBe('Parser Error: syntax error at or near "SELEC"\n\nLINE 1: SELEC\n        ^\n');
  });

  test('lists tables and their columns', async () => {
    const { out, err, code } = await sql({ typed: '.tables\n.schema events\n.schema nothing\n.schema' });
    expect(out).toMatch(
      /^table\nentries\nevents\ncolumn,type\nevent_id,VARCHAR\nposted_at,TIMESTAMP WITH TIME ZONE\nraw,VARCHAR\naccount,VARCHAR\nmonth,VARCHAR\ntable,columns\nentries,"event_id, [a-z_, ]+"\nevents,"event_id, posted_at, raw, account, month"\n/,
    );
    expect(err).toMatch(/^Catalog Error: Table with name nothing does not exist!/);
    expect(code).toBe(1);
  });

  test('lists macros among the tables, with their parameters', async () => {
    const macrosFor = () => ['CREATE OR REPLACE MACRO event_sum(a, b) AS a + b'];
    expect((await sql({ macrosFor, typed: '.tables' })).out).toBe('table\nentries\n"event_sum(a, b)"\nevents\n');
  });

  test.each(['help', 'HELP;', '.help'])('%s lists the commands', async (word) => {
    expect((await sql({ typed: `${word}\n` })).out).toMatch(/^Statements end with a semicolon/);
  });

  test.each(['exit', 'QUIT;', '.exit'])('leaves at %s, but not within a statement', async (word) => {
    const typed = `SELECT 1 AS\n${word.replace('.', '')}`;
    expect(await sql({ typed: `SELECT 1 AS x;\n${word}\nSELECT 2 AS x;` })).toMatchObject({ code: 0, out: 'x\n1\n' });
    expect((await sql({ typed: `${typed.replace(';', '')};` })).out).toMatch(/^(exit|QUIT)\n1\n$/);
  });

  test('changes the format, helps, and leaves', async () => {
    const typed = '.format\n.format ndjson\nSELECT 1 AS x;\n.help\n.quit\nSELECT 2 AS x;';
    const { out, code } = await sql({ typed });
    expect(out).toMatch(/^csv\n\{"x":1\}\nStatements end with a semicolon.*\.tables.*\n$/s);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(110);
    expect(code).toBe(0);
  });

  test('writes results to files, each statement’s whole or not at all, and back', async () => {
    const own = await temporaryFolder();
    const failing = "SELECT CASE WHEN range = 5000 THEN error('late') END AS x FROM range(10000);";
    const typed = [
      `.output ${own}/a file.csv`,
      'SELECT 1 AS x;',
      failing,
      'SELECT 2 AS x;',
      `.output ${own}/other.csv`,
      'SELECT 3 AS x;',
      '.output',
      'SELECT 4 AS x;',
      `.output ${own}/no/such/file`,
      'SELECT 5 AS x;',
    ].join('\n');
    const { code, out, err } = await sql({ typed });
    expect([code, out]).toEqual([1, 'x\n4\nx\n5\n']);
    expect(err).toMatch(
      /late.*wrote .*a file\.csv, 2 rows\nwrote .*other\.csv, 1 row\nexpected a file that can be written, got .* \(the folder .*no\/such does not exist; create it first\)/s,
    );
    expect(readFileSync(join(own, 'a file.csv'), 'utf8')).toBe('x\n1\nx\n2\n');
    expect(readFileSync(join(own, 'other.csv'), 'utf8')).toBe('x\n3\n');
    expect(readdirSync(own)).toEqual(['a file.csv', 'other.csv']);
  });

  test('writes a file in the format that its ending says, unless another was chosen', async () => {
    const own = await temporaryFolder();
    const typed = (name: string) => [`.output ${own}/${name}`, 'SELECT 1 AS x;', '.output'].join('\n');
    expect(await sql({ typed: `${typed('a.ndjson')}\nSELECT 2 AS x;`, format: undefined })).toMatchObject({
      code: 0,
      out: expect.stringContaining('1 row') as string,
    });
    await sql({ typed: `.format csv\n${typed('b.json')}`, format: undefined });
    const { code, err } = await sql({ typed: typed('c.xls'), format: undefined });
    expect([code, err]).toEqual([
      1,
      `expected a file that ends with .csv, .json, .ndjson, .jsonl, .txt, .parquet or .xlsx, or an explicit format (--format, in the shell .format), got ${own}/c.xls\n`,
    ]);
    expect(readFileSync(join(own, 'a.ndjson'), 'utf8')).toBe('{"x":1}\n');
    expect(readFileSync(join(own, 'b.json'), 'utf8')).toBe('x\n1\n');
    expect(readdirSync(own)).toEqual(['a.ndjson', 'b.json']);
  });

  test('knows what it doesn’t know', async () => {
    const { err, code } = await sql({ typed: '.format xml\n.foo\n.formt\n.mode line\n.constructor' });
    expect(err).toBe(
      'expected a format (table, vertical, json, csv, csv-safe, ndjson), got "xml"\nexpected a command, got ".foo"; .help lists them\n' +
        'expected a command, got ".formt"; did you mean .format? .help lists them\n' +
        'expected a command, got ".mode"; did you mean .format? .help lists them\n' +
        'expected a command, got ".constructor"; .help lists them\n',
    );
    expect(code).toBe(1);
  });

  test('takes a line with a leading dot inside a statement for SQL', async () => {
    expect((await sql({ typed: 'SELECT 1\n.5 AS x;' })).err).toContain('Parser Error');
  });

  test('on a terminal prompts, shows tables in its width, and its end is no failure', async () => {
    const input: PassThrough & { isTTY?: boolean } = new PassThrough();
    input.isTTY = true;
    const output = new Kept(40);
    const running = sql({ input, output, format: 'table' });
    input.write(`SELECT repeat('x', 60)\nAS x;\nSELEC;\n`);
    while (!output.text.includes('1 row')) await new Promise(setImmediate);
    input.end('.quit\n');
    const { code, err } = await running;
    expect(code).toBe(0);
    expect(output.text).toContain('ledgerlake> ');
    expect(output.text).toContain('       ...> ');
    expect(output.text).toContain(`│ ${'x'.repeat(35)}… │\n`);
    expect(err).toContain('Parser Error');
  });

  test('has no prompt when its input is a pipe', async () => {
    expect((await sql({ typed: 'SELECT 1 AS x;\n' })).out).not.toContain('>');
  });

  test('reads files, which may read others but not themselves', async () => {
    const own = await temporaryFolder();
    const [first, second] = [join(own, 'first.sql'), join(own, 'second.sql')];
    writeFileSync(first, `\uFEFFSELECT 1 AS x;\r\n.read ${second}\r\nSELECT 2\r\n  AS x`);
    writeFileSync(second, `SELECT no;\n.read ${first}\n.format ndjson\n`);
    const { code, out, err } = await sql({ typed: `.read ${first}\nSELECT 3 AS x;\n.read ${own}/none.sql\n` });
    expect([code, out]).toEqual([1, 'x\n1\n{"x":2}\n{"x":3}\n']);
    expect(err).toMatch(
      /^Binder Error: [^]*\nexpected a file that does not read itself, got .*first\.sql\nexpected statements in .*none\.sql, got ENOENT: .*\n$/,
    );
    writeFileSync(first, 'SELECT 4 AS x;\n.quit\nSELECT 5 AS x;');
    expect((await sql({ typed: `.read ${first}\nSELECT 6 AS x;\n` })).out).toBe('x\n4\n');
  });

  test('ends when nobody reads its output', async () => {
    const output = new Kept();
    output.destroy();
    expect((await sql({ typed: 'SELECT 1;\nSELECT 2;\n', output })).code).toBe(0);
  });

  test('stops with the signal while it waits for input', async () => {
    const controller = new AbortController();
    const output = new Kept();
    const input = new PassThrough();
    const running = failureOf(sql({ input, output, signal: controller.signal }));
    input.write('SELECT 1 AS x;\n');
    while (!output.text.includes('x\n1\n')) await new Promise(setImmediate);
    controller.abort();
    expect((await running).code).toBe('STOPPED');
  });
});

test('an error over a file of the lake is what the lake makes of it', async () => {
  const own = lakeFolder();
  const address = await own.write('entries/account=a/month=2025-03/f.parquet', entriesQuery('f', 3));
  truncateSync(address, 200);
  const lakeFiles = () => Promise.resolve(new Map([['entries', [address]]]));
  const faultOf = (error: unknown) => Promise.resolve(new LedgerlakeError('SQL', `known: ${String(error)}`));
  const queries = ['FROM entries', 'CREATE TABLE own AS FROM entries; SELECT 1'];
  for (const query of queries) {
    const error = await failureOf(sql({ query, lakeFiles, faultOf }));
    expect(error.message).toContain(`known: LedgerlakeError: Invalid Input Error: No magic bytes`);
  }
  own.remove();
});
