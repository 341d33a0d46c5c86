import { sqlType } from '../../../core/columns/table.js';
import { identifier, literal } from '../../../core/duckdb/literals.js';
import { formatCount } from '../../../core/text/amounts.js';
import { rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import type { StagedCheck, CheckContext } from '../common/check.js';
import type { LogFile } from '../common/log-files.js';
import { fileOf, pathsOf, type ReadableFile } from '../common/readable-files.js';

/** Found by `statistics`, whose statement counts the rows. */
export const rowCountsCheck: StagedCheck = {
  name: 'row-counts',
  about: 'each file has the number of rows of the log',
  counts: 'rows',
  takenOut: 'file',
};

export const statisticsCheck: StagedCheck = {
  name: 'statistics',
  about: 'the statistics in the log are correct',
  counts: 'files',
  takenOut: 'file',
  files: { appliesTo: () => true, check: checkStatistics },
};

/** The figures of the log on a file's columns, by the sort of figure. */
const figuresOf = ({ stats: { minValues, maxValues, nullCount } }: LogFile) => [
  { figure: 'min', what: 'min', values: minValues },
  { figure: 'max', what: 'max', values: maxValues },
  { figure: 'nulls', what: 'number of nulls', values: nullCount },
];

async function checkStatistics(files: readonly ReadableFile[], { database, certificate }: CheckContext): Promise<void> {
  const logged = files[0]?.file.delta.schema.columns ?? [];
  const stated = new Set(files.flatMap(({ file }) => figuresOf(file).flatMap(({ values }) => Object.keys(values))));
  const columns = logged.filter(({ name }) => stated.has(name));
  const expected = files.map(({ file }, source) => {
    const texts = columns.flatMap(({ name }) =>
      figuresOf(file).map(({ values }) => (name in values ? literal(String(values[name])) : 'NULL')),
    );
    return `(${[String(source), ...texts].join(', ')})`;
  });
  const names = columns.flatMap((_, at) => [`min${at}`, `max${at}`, `nulls${at}`]);
  const figures = columns.flatMap(({ name }, at) => {
    const column = identifier(name);
    return [`min(${column}) AS least${at}`, `max(${column}) AS most${at}`, `count(${column}) AS values${at}`];
  });
  const tests = columns.flatMap((column, at) => {
    const number = `coalesce(values${at}, 0)`;
    // A column without a value has no bounds.
    const bound = (test: string) => `coalesce(${test} AS ${sqlType(column)}), ${number} = 0)`;
    return [
      `${bound(`least${at} >= TRY_CAST(min${at}`)} AS min${at}`,
      `${bound(`most${at} <= TRY_CAST(max${at}`)} AS max${at}`,
      `coalesce(found, 0) - ${number} = TRY_CAST(nulls${at} AS BIGINT) AS nulls${at}`,
    ];
  });
  const rows = await database.rows(
    `SELECT ${['source', 'coalesce(found, 0) AS found', ...tests].join(', ')} ` +
      `FROM (VALUES ${expected.join(', ')}) AS expected(${['source', ...names].join(', ')}) LEFT JOIN (` +
      `SELECT ${[`${sourceColumn} AS source`, 'count(*) AS found', ...figures].join(', ')} ` +
      `FROM ${rowsWithSource(pathsOf(files))} GROUP BY ${sourceColumn}) USING (source) ORDER BY source`,
  );
  for (const row of rows) {
    const file = fileOf(files, row['source']);
    const found = Number(row['found']);
    certificate.count(rowCountsCheck, found);
    if (found !== file.rows)
      certificate.add(rowCountsCheck, 'lake', file, `expected ${formatCount(file.rows, 'row')}, found ${found}`);
    certificate.count(statisticsCheck);
    const { numRecords } = file.stats;
    const wrong = figuresOf(file).flatMap(({ figure, what, values }) =>
      Object.keys(values)
        .filter((name) => row[`${figure}${columns.findIndex((column) => column.name === name)}`] !== true)
        .map((name) => `the ${what} ${figure === 'nulls' ? 'in' : 'of'} ${name} is wrong`),
    );
    const faults = [
      ...(found === numRecords ? [] : [`numRecords is ${numRecords}, the file has ${formatCount(found, 'row')}`]),
      ...wrong,
    ];
    if (faults.length > 0) certificate.add(statisticsCheck, 'lake', file, faults.join('; '));
  }
}
