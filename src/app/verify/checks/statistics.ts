import { sqlType } from '../../../core/columns/table.js';
import { identifier, literal } from '../../../core/duckdb/literals.js';
import { formatCount } from '../../../core/text/amounts.js';
import type { FileStatistics } from '../../../lake/delta/data-file.js';
import { rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import type { CheckContext, CheckDefinition } from '../common/check.js';
import { pathsOf, type TableFiles } from '../common/checked-files.js';
import { rowCountsCheck } from './row-counts.js';

export const statisticsCheck: CheckDefinition = {
  name: 'statistics',
  about: 'the statistics in the log are correct',
  counts: 'files',
  takenOut: 'file',
  files: checkStatistics,
};

/** The figures of the log on a file's columns, by the sort of figure. */
const figuresOf = ({ minValues, maxValues, nullCount }: FileStatistics) => [
  { figure: 'min', what: 'min', values: minValues },
  { figure: 'max', what: 'max', values: maxValues },
  { figure: 'nulls', what: 'number of nulls', values: nullCount },
];

async function checkStatistics({ schema, files }: TableFiles, { database, certificate }: CheckContext): Promise<void> {
  const logged = files.map((file) => {
    const { statistics } = file.dataFile;
    return { file, statistics, figures: figuresOf(statistics) };
  });
  const stated = new Set(logged.flatMap(({ figures }) => figures.flatMap(({ values }) => Object.keys(values))));
  const columns = schema.columns.filter(({ name }) => stated.has(name));
  const expected = logged.map(({ figures }, source) => {
    const texts = columns.flatMap(({ name }) =>
      figures.map(({ values }) => (name in values ? literal(String(values[name])) : 'NULL')),
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
  for (const [at, { file, statistics, figures }] of logged.entries()) {
    const row = rows[at] ?? {};
    const found = Number(row['found']);
    certificate.count(rowCountsCheck, found);
    if (found !== file.dataFile.rows)
      certificate.add(
        rowCountsCheck,
        'lake',
        file,
        `expected ${formatCount(file.dataFile.rows, 'row')}, found ${found}`,
      );
    certificate.count(statisticsCheck);
    const { numRecords = NaN } = statistics;
    const wrong = figures.flatMap(({ figure, what, values }) =>
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
