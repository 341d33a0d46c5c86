import { plainLog } from '../../observe/log/plain-log.js';
import { unknownName } from '../../core/text/fault-line.js';
import { viewedColumns } from '../../core/duckdb/views.js';
import { groupBy } from '../../core/group-by.js';
import { withCommandsIn } from '../command-text.js';
import { isMacro, viewComment, views } from '../query/views.js';
import { readStatus, statusObject } from '../status/status.js';
import { checks } from '../verify/check-list.js';
import { certify } from '../verify/verify.js';
import { explainDifference } from './explain-difference.js';
import type { LakeSession } from './lake-session.js';
import viewColumns from './view-columns.sql';
import { toolText, type Tool } from './tool.js';

const defaultRows = 100;
const mostRows = 10_000;
const defaultSeconds = 60;
const mostSeconds = 600;
/** Problems that `verify` lists. */
const mostProblems = 20;

const timeout = {
  type: 'integer',
  description: 'Seconds after which the query is stopped',
  minimum: 1,
  maximum: mostSeconds,
  default: defaultSeconds,
} as const;

/** The tools of a server over a lake, by name. */
export function lakeTools(session: LakeSession): Readonly<Record<string, Tool>> {
  const { served, context, reader } = session;
  const { lake: location, accounts: allowed, config } = served;
  const account = {
    type: 'string',
    description:
      allowed === undefined ? 'Account [default: all]' : `Account: ${allowed.join(', ')} [default: all of them]`,
  } as const;
  /** The account of a call. Throws a USAGE error for one that may not be shown; the lake knows the others. */
  const accountOf = (text: string | undefined): string | undefined => {
    if (text === undefined || allowed?.includes(text) !== false) return text;
    throw unknownName('account', text, allowed);
  };

  return {
    query: {
      description:
        'Runs one read-only SQL query (DuckDB) over the committed rows of the lake, with a view for each table and further views ' +
        '(tools tables, views). Amounts are exact decimals, given as texts. `cut` says whether rows are missing.',
      args: {
        sql: { type: 'string', description: 'One SELECT', isRequired: true },
        limit: { type: 'integer', description: 'Most rows', minimum: 1, maximum: mostRows, default: defaultRows },
        timeout_seconds: timeout,
      },
      run: async ({ args, signal }) => {
        const sql = toolText(args, 'sql') ?? '';
        const limits = { rows: Number(args['limit']), seconds: Number(args['timeout_seconds']), signal };
        const result = await session.query(sql, limits);
        const notes = reader.notesOn(sql).map((note) => withCommandsIn({ lake: location, config }, note));
        return { ...result, ...(notes.length > 0 && { notes }) };
      },
    },
    tables: {
      description:
        'Lists the tables of the lake, their rows, and their columns; with `table`, what each of its columns means.',
      args: { table: { type: 'string', description: 'Name of one table [default: all]' } },
      run: async ({ args }) => {
        await reader.lakeFiles();
        return { tables: tablesOf(session, toolText(args, 'table')) };
      },
    },
    views: {
      description:
        'Lists the views over the tables with what their rows and columns are: earnings by month, fees, settlements, reconciliation, ' +
        'differences, journals; and the macros. Begin with these before you sum `entries`.',
      args: { view: { type: 'string', description: 'Name of one view or macro [default: all]' } },
      run: async ({ args, signal }) => ({ views: await viewsOf(session, toolText(args, 'view'), signal) }),
    },
    status: {
      description:
        'What the lake has of each account, and what is missing: loaded ranges, gaps, open settlements, runs, the age of the data, ' +
        'and the command that loads the rest. The object of `ledgerlake status --format json`, without its list of days.',
      args: {
        account,
        days: { type: 'boolean', description: 'Whether to list the days of each pipeline' },
      },
      run: async ({ args }) => {
        const { marginMinutes } = served;
        const query = { lake: location, config, allowed, account: accountOf(toolText(args, 'account')), marginMinutes };
        const status = statusObject(await readStatus({ ...query, from: undefined, to: undefined }, context));
        if (args['days'] === true) return status;
        return {
          ...status,
          accounts: status.accounts.map((one) => ({
            ...one,
            pipelines: one.pipelines.map((pipeline) => ({ ...pipeline, days: undefined })),
          })),
        };
      },
    },
    verify: {
      description:
        'Proves the lake: reads every file and compares files, rows, sums and settlements. It takes seconds to minutes. verdict: whole; ' +
        'findings, where the service contradicts itself; or broken, where the lake has problems.',
      args: { account },
      run: async ({ args, signal, progress }) => {
        const one = accountOf(toolText(args, 'account')) ?? (allowed?.length === 1 ? allowed[0] : undefined);
        if (allowed !== undefined && one === undefined) throw unknownName('one account to verify', 'none', allowed);
        const settings = { lake: location, config, account: one };
        const { certificate } = await certify(settings, { ...context, signal, emit: plainLog(progress) });
        // These checks read what other accounts have, too.
        const left =
          allowed === undefined ? [] : checks.flatMap((check) => (check.isOfCatalog === true ? check.name : []));
        const problems = certificate.problems.filter(({ check }) => !left.includes(check));
        return { ...certificate, problems: problems.slice(0, mostProblems) };
      },
    },
    explain_difference: {
      description:
        'Why the numbers of an order or of a settlement differ: between the two APIs (api_differences), between a settlement report and ' +
        'the lake (settlement_differences), and between amounts by date and payouts (reconciliation). Give `order` or `settlement`.',
      args: {
        order: { type: 'string', description: 'amazon_order_id' },
        settlement: { type: 'string', description: 'group_id, or the settlement_id of reports' },
        timeout_seconds: timeout,
      },
      run: ({ args, signal }) => {
        const ids = { order: toolText(args, 'order'), settlement: toolText(args, 'settlement') };
        return explainDifference(session, ids, { seconds: Number(args['timeout_seconds']), signal });
      },
    },
  };
}

/** The tables that a session shows, with the rows of the newest version. */
function tablesOf({ reader: { lake, tables } }: LakeSession, name: string | undefined): readonly object[] {
  const rows = new Map<string, number>();
  for (const file of lake.files()) {
    rows.set(file.table, (rows.get(file.table) ?? 0) + file.rows);
  }
  return named('table', tables, name).map((table) => {
    const { about, columns: described } = lake.table(table.name);
    const aboutOf = new Map(described.map((column) => [column.name, column.about]));
    const columns = viewedColumns(table).map((column) => ({ ...column, about: aboutOf.get(column.name) }));
    return {
      name: table.name,
      about,
      rows: rows.get(table.name) ?? 0,
      columns: name === undefined ? columns.map((column) => column.name) : columns,
    };
  });
}

/** The views and macros of a session. */
async function viewsOf(
  session: LakeSession,
  name: string | undefined,
  signal: AbortSignal,
): Promise<readonly object[]> {
  const limits = { rows: mostRows, seconds: defaultSeconds, signal };
  const listed = named(
    'view',
    [...views].map(([view, text]) => ({ name: view, about: viewComment(text), isMacro: isMacro(text) })),
    name,
  );
  const { rows } = await session.query(viewColumns, limits);
  const parts = groupBy(rows, ([view]) => view);
  return listed.map(({ name: view, about, isMacro: isCalled }) => {
    const own = parts.get(view) ?? [];
    const [columns, parameters] = isCalled
      ? [undefined, own.map(([, parameter]) => parameter)]
      : [own.map(([, column, type]) => ({ name: column, type })), undefined];
    return { name: view, about, columns, parameters };
  });
}

/** Those of a list, or the one with a name. Throws a USAGE error for an unknown name. */
function named<T extends { readonly name: string }>(
  what: string,
  all: readonly T[],
  name: string | undefined,
): readonly T[] {
  const found = all.filter((one) => name === undefined || one.name === name);
  if (found.length > 0 || name === undefined) return found;
  throw unknownName(
    what,
    name,
    all.map((one) => one.name),
  );
}
