import { writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { runSql } from '../../../src/cli/sql-shell/run-sql.js';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { report } from '../../../src/app/report/report.js';
import { encodeRecords } from '../../../src/core/parquet/encoder/encode-records.js';
import { openLake } from '../../../src/index.js';
import { Kept } from '../../core/text/streams.js';
import { clockAt } from '../lake-run.js';
import { open, smallLake } from '../maintenance/small-lake.js';

const clock = clockAt('2026-03-01T00:00:00Z');

test.each(['entries', 'events'])(
  'a foreign Parquet file in place of a file of %s is named, and gives no rows of nulls',
  async (name) => {
    const small = await smallLake(clock, 1);
    onTestFinished(() => small.remove());
    const { lake } = small;
    const opened = await open(lake, clock);
    const [file] = opened.committedAdds().filter(({ table }) => table.schema.name === name);
    const address = opened.store.address(file?.table.pathOf(file.add) ?? '');
    const { bytes } = await encodeRecords([{ name: 'id', type: 'bigint' }], [{ id: 1 }, { id: 2 }], 1000, 'another');
    await writeFile(address, bytes);

    const fault = {
      code: 'SQL',
      message: expect.stringMatching(
        new RegExp(
          `^expected the file ${address} \\(window/\\S+\\), it has ${bytes.length} bytes instead of \\d+: .*ledgerlake`,
        ),
      ) as string,
    };
    const output = new Kept();
    const streams = { input: process.stdin, output, errorOutput: new Kept(), format: 'csv' as const };
    const queried = async () => {
      const reader = await openLakeReader(lake, clock);
      return runSql({ ...reader, ...streams, query: `SELECT count(*), min(event_id) FROM ${name}`, scope: { lake } });
    };
    await expect(queried()).rejects.toMatchObject(fault);
    const context = { clock, signal: new AbortController().signal, output, log: () => undefined };
    await expect(
      report({ lake, output: '-', format: 'html', account: undefined, from: undefined, to: undefined }, context),
    ).rejects.toMatchObject(fault);
    const library = await openLake(lake);
    onTestFinished(() => library.close());
    await expect(library.sql(`FROM ${name}`)).rejects.toMatchObject(fault);
    expect(output.text).toBe('');
  },
);
