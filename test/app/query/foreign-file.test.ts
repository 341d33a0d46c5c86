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

// Before the clock of any machine that runs this: it has the files' times.
const clock = clockAt('2024-03-01T00:00:00Z');

test.each([
  ['entries', 'of another size'],
  ['events', 'of another size'],
  ['entries', 'of the same size'],
  ['events', 'of the same size'],
])('a foreign Parquet file in place of a file of %s, %s, is named, and gives no rows of nulls', async (name, kind) => {
  const small = await smallLake(clock, 1);
  onTestFinished(() => small.remove());
  const { lake } = small;
  const opened = await open(lake, clock);
  const [file] = opened.committedAdds().filter(({ table }) => table.schema.name === name);
  const address = opened.store.address(file?.table.pathOf(file.add) ?? '');
  const isSame = kind === 'of the same size';
  const encoded = (writer: string) =>
    encodeRecords([{ name: 'id', type: 'bigint' }], [{ id: 1 }, { id: 2 }], 1000, writer).then((of) => of.bytes);
  const shortest = await encoded('another');
  let bytes = shortest;
  // The writer's name fills the file up; its length takes a byte or two.
  for (let more = 0; isSame && more < 8 && bytes.length !== file?.add.size; more++)
    bytes = await encoded(`another${'.'.repeat((file?.add.size ?? 0) - shortest.length - more)}`);
  await writeFile(address, bytes);

  const fault = {
    code: 'SQL',
    message: expect.stringMatching(
      new RegExp(
        `^expected the file ${address} \\(window/\\S+\\), ${isSame ? 'it has a column "id", which the table lacks' : `it has ${bytes.length} bytes instead of \\d+`}: .*ledgerlake`,
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
});
