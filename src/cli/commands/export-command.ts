import { exportFormats } from '../../app/export/export-formats.js';
import { usageError } from '../../core/errors.js';
import { shared, type CommandDefinition } from '../options/command-definition.js';
import { readLake, readLakeSettings } from '../options/command-settings.js';

export const exportCommand: CommandDefinition = {
  name: 'export',
  positional: {
    name: 'FORMAT',
    many: false,
    about: `${exportFormats.join(', ')} or views`,
    choices: [...exportFormats, 'views'],
  },
  about: 'Write Iceberg metadata or symlink manifests of the tables, or the SQL of the views',
  description:
    'iceberg writes Apache Iceberg metadata (version 2) of every table to LAKE/_iceberg/TABLE. symlinks writes a manifest of\n' +
    'each partition to LAKE/TABLE/_symlink_format_manifest, for Redshift Spectrum, Hive and Presto. Both refer to the same\n' +
    'data files: nothing is copied, and what has not changed is not rewritten. With the setting `export` each run exports\n' +
    'at its end. A lake without a retention deletes replaced files at once.\n' +
    'views writes the SQL of the views of `ledgerlake sql` into --dir, for a plain DuckDB and for dbt.',
  options: {
    ...shared('lake', 'config', 'time-zone', 'json'),
    dir: { about: 'With views: the folder to write' },
    ddl: {
      isFlag: true,
      about: 'With symlinks: print statements that create the tables in Redshift, and write nothing',
    },
  },
  examples: [
    ['export iceberg', 'for engines that read Iceberg'],
    ['export symlinks --lake s3://my-bucket/lake --ddl', 'external tables of Redshift Spectrum'],
    ['export views --dir models/ledgerlake', 'the views for dbt'],
  ],
  run: async (args, context) => {
    const named = args.text('FORMAT');
    const dir = args.text('dir');
    if (dir !== undefined && named !== 'views') throw usageError('expected --dir with `export views` only');
    if (named === 'views') {
      if (dir === undefined) throw usageError('expected --dir DIR with `export views`, got none');
      if (args.flag('ddl')) throw usageError('expected --ddl with `export symlinks` only, got `export views`');
      const { exportViews } = await import('../../app/query/export-views.js');
      const { lake, timeZone } = await readLakeSettings(args);
      return exportViews({ lake, dir, timeZone }, context);
    }
    const format = exportFormats.find((known) => known === named);
    if (format === undefined) {
      const described = named === undefined ? 'none' : JSON.stringify(named);
      throw usageError(
        `expected \`export ${exportFormats.join('`, `export ')}\` or \`export views\`, got ${described}`,
      );
    }
    if (args.flag('ddl') && format !== 'symlinks')
      throw usageError('expected --ddl with `export symlinks` only, got `export iceberg`');
    const { runExport, redshiftTables } = await import('../../app/export/export-tables.js');
    if (args.flag('ddl')) {
      context.print(await redshiftTables({ lake: await readLake(args) }, context));
      return 0;
    }
    return runExport({ ...(await readLakeSettings(args)), format }, context);
  },
};
