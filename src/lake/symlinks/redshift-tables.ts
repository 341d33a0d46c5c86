import { typeName, type TypeNames } from '../../core/columns/table.js';
import { identifier, literal } from '../../core/duckdb/literals.js';
import type { TableState } from '../catalog/grown-schema.js';
import type { Lake } from '../lake.js';
import { deltaColumns } from '../delta/table-metadata.js';
import { symlinkFolder } from '../data-files.js';

/** Redshift's type names. Its texts have at most 65,535 bytes. */
const types: TypeNames = {
  text: 'varchar(65535)',
  instant: 'timestamp',
  date: 'date',
  bigint: 'bigint',
  integer: 'integer',
  boolean: 'boolean',
};

const partitionTypes = { account: 'varchar(64)', month: 'varchar(7)' } as const;

/**
 * SQL statements for Redshift Spectrum (also Hive and Presto, with their types) that create external tables over a
 * lake's symlink manifests, with the current partitions.
 */
export function redshiftStatements(lake: Lake, schema: string): string[] {
  return lake.tables.flatMap(({ name }) => {
    const stored = lake.snapshot.tables.get(name);
    return stored === undefined
      ? []
      : [tableStatement(lake, name, stored, schema), ...partitionStatements(lake, name, schema)];
  });
}

function tableStatement(lake: Lake, table: string, { metaData }: TableState, schema: string): string {
  const columns = deltaColumns(metaData.schemaString)
    .filter(({ name }) => !Object.hasOwn(partitionTypes, name))
    .map((column) => `  ${identifier(column.name)} ${typeName(column, types)}`);
  const partitions = Object.entries(partitionTypes).map(([name, type]) => `"${name}" ${type}`);
  return [
    `CREATE EXTERNAL TABLE ${schema}.${table} (`,
    columns.join(',\n'),
    ')',
    `PARTITIONED BY (${partitions.join(', ')})`,
    "ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'",
    "STORED AS INPUTFORMAT 'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat'",
    "OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat'",
    `LOCATION ${literal(manifestFolder(lake, table))};`,
  ].join('\n');
}

function partitionStatements(lake: Lake, table: string, schema: string): string[] {
  const partitions = new Map(
    [...lake.snapshot.files(table)].map(
      ({ path, partitionValues }) => [path.slice(0, path.lastIndexOf('/')), partitionValues] as const,
    ),
  );
  return [...partitions]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([folder, values]) => {
      const partition = Object.keys(partitionTypes).map((name) => `${name}=${literal(values[name] ?? '')}`);
      return (
        `ALTER TABLE ${schema}.${table} ADD IF NOT EXISTS PARTITION (${partition.join(', ')}) ` +
        `LOCATION ${literal(`${manifestFolder(lake, table)}/${folder}/`)};`
      );
    });
}

function manifestFolder(lake: Lake, table: string): string {
  return lake.store.address(`${table}/${symlinkFolder}`);
}
