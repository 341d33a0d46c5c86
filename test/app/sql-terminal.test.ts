import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { clockAt, ran, serving, temporaryFolder } from './lake-run.js';
import { hasTerminal, onTerminal } from './terminal.js';

const tab = '\t';
const up = '\x1b[A';
const ctrlC = '\x03';
const ctrlD = '\x04';
const ready = /ledgerlake> (\x1b\[\d+G)?$/;

describe.runIf(hasTerminal)('the shell on a terminal', () => {
  test('completes, cancels, writes files, keeps what is typed, and leaves', async () => {
    const folder = await temporaryFolder();
    const clock = clockAt('2026-03-15T12:00:00Z');
    const endpoint = await serving({
      backend: createSeller({ seed: 5, events: 300, profile: 'edge-cases' }, clock),
      clock,
    });
    const lake = join(folder, 'lake');
    await ran({ lake, endpoint, account: 'shop', pipelines: ['financial-events'] }, { clock });
    const environment = { HOME: folder, XDG_STATE_HOME: join(folder, 'state') };
    const history = join(folder, 'state/ledgerlake/sql_history');

    const first = onTerminal(['sql', '--lake', lake, '--format', 'csv'], { folder, environment });
    await first.shows(ready);
    first.type(`SELECT count(*) > 99 AS many FROM entr${tab}`);
    await first.shows(/entries/);
    first.type(`;\r`);
    await first.shows(/many\s+true\s/);

    first.type('SELEC;\r');
    await first.shows(/Parser Error/);

    first.type('SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b;\r');
    await first.shows(/;[\r\n]+$/);
    // Into the query, and not in front of it.
    await new Promise((resume) => setTimeout(resume, 500));
    first.type(ctrlC);
    await first.shows(/the statement was cancelled/);

    first.type('SELECT 40\r');
    await first.shows(/\.\.\.> /);
    first.type('  + 2 AS sum;\r');
    await first.shows(/sum\s+42\s/);
    first.type(up);
    await first.shows(/SELECT 40 \+ 2 AS sum;/);
    first.type(ctrlC);
    await first.shows(/\^C\s.*ledgerlake> /s);

    first.type('SELECT\r');
    await first.shows(/\.\.\.> /);
    first.type('.quit\r');
    await first.shows(/This line is now part of the statement: ; ends it, Ctrl-C cancels it\.\s.*\.\.\.> /s);
    first.type(`half a statement${ctrlC}`);
    await first.shows(/\^C\s.*ledgerlake> /s);

    const file = join(folder, 'out.ndjson');
    first.type(`.output ${file}\r.format ndjson\rSELECT 1 AS x;\rSELECT error('no') AS x;\r`);
    await first.shows(/Invalid Input Error: no/);
    first.type('SELECT 2 AS x;\r.output\r');
    await first.shows(/wrote .*out\.ndjson/);
    first.type(`.output ${join(folder, 'ou')}${tab}`);
    await first.shows(/out\.ndjson/);
    first.type(ctrlC);
    await first.shows(/\^C\s.*ledgerlake> /s);
    expect(await readFile(file, 'utf8')).toBe('{"x":1}\n{"x":2}\n');

    first.type(ctrlD);
    expect(await first.ended()).toBe(0);
    const typed = await readFile(history, 'utf8');
    expect(typed).toContain('SELECT count(*) > 99 AS many FROM entries;\nSELEC;\n');
    expect(typed).toContain('\nSELECT 40 + 2 AS sum;\n');
    expect(typed).not.toContain('half a statement');
    expect((await stat(history)).mode & 0o777).toBe(0o600);

    const second = onTerminal(['sql', '--lake', lake, '--format', 'csv'], { folder, environment });
    await second.shows(ready);
    second.type(up + up);
    await second.shows(/SELECT 2 AS x;/);
    second.type('\r');
    await second.shows(/x\s+2\s/);
    second.type(ctrlC);
    await second.shows(/Press Ctrl-C again, or Ctrl-D, to leave\.\s.*ledgerlake> /s);
    second.type('SELECT 3 AS x;\r');
    await second.shows(/x\s+3\s.*ledgerlake> /s);
    second.type(ctrlC);
    await second.shows(/to leave\.\s.*ledgerlake> /s);
    second.type(ctrlC);
    expect(await second.ended()).toBe(0);
  });
});
