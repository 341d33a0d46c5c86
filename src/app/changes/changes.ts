import { createReadStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { literal } from '../../core/duckdb/literals.js';
import { usageError } from '../../core/errors.js';
import { openOutputFile } from '../../core/io/output-file.js';
import { printable } from '../../core/printable.js';
import { formatCount } from '../../core/text/amounts.js';
import { ndjsonText } from '../../core/text/formats.js';
import { writeExact } from '../../core/text/sink.js';
import { alignedLines } from '../../core/text/width.js';
import type { CommandResult } from '../command-result.js';
import type { ChangesSummary } from '../results.js';

import type { changesFormats } from './changes-formats.js';
import type { ReadingContext, RunContext } from '../context.js';
import { readChanges, type ChangesQuery } from './read-changes.js';

export interface ChangesCommand extends ChangesQuery {
  /** Undefined: by the ending of the file, else ndjson. */
  readonly format: (typeof changesFormats)[number] | undefined;
  /** The file to write, completely or not at all; undefined: `output`. */
  readonly file: string | undefined;
}

/**
 * `ledgerlake changes`: writes the rows that came and went since an earlier version. The last line of ndjson has the version to go on
 * from, so that what lacks it is incomplete.
 *
 * @throws LedgerlakeError as `readChanges`; USAGE for Parquet without a file or one table
 */
export async function changes(
  options: ChangesCommand,
  context: ReadingContext,
): Promise<CommandResult<ChangesSummary>> {
  const { file } = options;
  const format = options.format ?? (file?.endsWith('.parquet') === true ? 'parquet' : 'ndjson');
  if (format === 'parquet' && (file === undefined || options.tables.length !== 1)) {
    throw usageError(
      'expected --output FILE and one --table with --format parquet, whose rows have the columns of one table',
    );
  }
  if (file === undefined) return { text: '', summary: await writeLines(options, context, context.output) };
  const opened = await openOutputFile(file);
  try {
    const summary =
      format === 'ndjson'
        ? await writeLines(options, context, opened.stream)
        : await readChanges(options, context, async ({ query, database, newPath }, signal) => {
            const path = newPath();
            await database.execute(`COPY (${query}) TO ${literal(path)} (FORMAT parquet, COMPRESSION zstd)`, {
              signal,
            });
            for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) await opened.append(piece);
          });
    await opened.commit();
    return { text: changesText(summary, file), summary };
  } finally {
    await opened.discard();
  }
}

async function writeLines(options: ChangesQuery, context: RunContext, output: Writable): Promise<ChangesSummary> {
  const summary = await readChanges(options, context, async ({ query, database }, signal) => {
    const { columns, chunks } = await database.query(query, { signal });
    await writeExact(output, ndjsonText(columns, chunks));
  });
  const { version, hash } = summary.catalog;
  await writeExact(output, [`${JSON.stringify({ _version: version, _hash: hash })}\n`]);
  return summary;
}

function changesText({ lake, since, catalog, tables }: ChangesSummary, file: string): string {
  const rows = Object.entries(tables).map(([table, { inserted, deleted }]) => [
    printable(table),
    formatCount(inserted),
    formatCount(deleted),
  ]);
  const from = since === null ? 'the beginning' : `version ${since}`;
  const lines = rows.length === 0 ? ['no row changed'] : alignedLines([['table', 'came', 'went'], ...rows]);
  return [
    '',
    `Changes of ${printable(lake)} from ${from} to version ${catalog.version}, in ${printable(file)}`,
    '',
    ...lines.map((line) => `  ${line}`),
    '',
    `Go on with --since ${catalog.version}:${catalog.hash}`,
    '',
  ].join('\n');
}
