import { expect, test } from 'vitest';
import { clockAt, database, temporaryFolder } from '../lake-run.js';
import { grammarClasses } from '../../reference/json-grammar.js';
import { isJson } from '../../reference/json-values.js';
import { fileOf, imported } from './imported.js';

const clock = clockAt('2024-03-20T00:00:00Z');

test.each(Object.entries(grammarClasses))(
  'saved pages with %s: what JSON.parse reads is loaded, and no other line is lost',
  async (_, all) => {
    // A line of its own for each case: those with line feeds are others' matter (`formats`).
    const cases = all.filter(({ bytes, depth = 0 }) => depth < 400 && !bytes.includes(0x0a));
    const page = (at: number, value: Buffer) =>
      Buffer.concat([
        Buffer.from(
          `{"payload":{"FinancialEvents":{"ServiceFeeEventList":[{"PostedDate":"2024-03-01T00:00:00Z","FeeReason":"${at}","x":`,
        ),
        value,
        Buffer.from('}]}}}\n'),
      ]);
    const lines = cases.flatMap(({ bytes }, at) => [page(at, bytes), page(cases.length + at, Buffer.from('0'))]);
    const root = await temporaryFolder();
    const { failure, summary } = await imported({ root, clock }, [await fileOf(Buffer.concat(lines))], {
      skipBroken: true,
    });
    const rows = await (await database(root, clock)).rows('SELECT raw FROM events');
    const loaded = new Map(rows.map(({ raw }) => [Number(/"FeeReason":"(\d+)"/.exec(String(raw))?.[1]), String(raw)]));
    const lost = lines.flatMap((line, at) => {
      const number = at % 2 === 0 ? at / 2 : cases.length + (at - 1) / 2;
      const raw = line.toString().slice(line.indexOf('[{') + 1, -5);
      if (!isJson(line)) return [];
      return loaded.get(number) === raw
        ? []
        : [{ name: cases[number % cases.length]?.name, raw, loaded: loaded.get(number) }];
    });
    expect(lost).toEqual([]);
    for (const raw of loaded.values()) expect(() => JSON.parse(raw) as unknown).not.toThrow();
    const isWhole = loaded.size === lines.length && summary.skipped_lines === 0;
    expect(failure === undefined).toBe(isWhole);
  },
);
