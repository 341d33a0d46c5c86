import { identifier, literal } from '../../core/duckdb/literals.js';
import type { QuerySettings } from '../configuration/settings.js';
import { textsByName, withoutTexts, wordsOf } from '../../core/duckdb/sql-statements.js';
import { chartQuery, readChart, type ChartRow } from './chart.js';
import { costsQuery, readCosts, type CostRow } from './costs.js';
import { marketplaces } from '../../sources/finances/model/marketplaces.js';
import { financesApis } from '../../sources/finances/finances-apis.js';
import type { FinancesApi } from '../../sources/finances/selling-partner/finances-api.js';

const marketplaceRows = marketplaces
  .map(({ id, name, country, currency, timeZone: zone }) => [id, name, country, currency, zone].map(literal).join(', '))
  .map((values) => `(${values})`)
  .join(',\n  ');

/** In SQL: the rows of what each API after v0 brings to the figures: those before the account's first day of a newer one. */
function laterRows(of: 'events' | 'amounts', instant: string): string {
  const later = financesApis.flatMap(({ name, figures }: FinancesApi) => (figures ? [{ name, ...figures }] : []));
  const rows = later.map((api, at) => {
    const conditions = later.slice(at + 1).map(({ events }) => {
      const first = `SELECT min(window_start) FROM ${events} AS newer_ WHERE newer_.account = of_.account`;
      return `coalesce(${instant} < (${first}), true)`;
    });
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    return `SELECT ${literal(api.name)} AS source, * FROM ${api[of]} AS of_${where}`;
  });
  return rows.join('\nUNION ALL BY NAME\n');
}

/** What the code knows, by its name in the text of a view: `$marketplaces`. */
const known: Readonly<Record<string, string>> = {
  marketplaces: marketplaceRows,
  later_amounts: laterRows('amounts', 'effective_at'),
  later_events: laterRows('events', 'window_start'),
  apis: financesApis.map(({ name }) => `(${literal(name)})`).join(', '),
};

const texts = [...textsByName(import.meta.glob<string>('./views/*.sql', { eager: true, import: 'default' }))];

/**
 * The views over a lake's tables by their names: the query of a view, or the statement that creates a macro; each behind those that it
 * reads.
 */
export const views = inOrder(
  new Map(texts.map(([name, text]) => [name, text.replaceAll(/\$(\w+)/g, (all, word: string) => known[word] ?? all)])),
);

/** The only table of which a view has rows, where it reads others too, for notes on empty results. */
export const emptyWithout: ReadonlyMap<string, string> = new Map([['settlement_items', 'settlement_reports']]);

function inOrder(unordered: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const left = new Map(unordered);
  const ordered = new Map<string, string>();
  const add = (name: string): void => {
    const text = left.get(name);
    if (text === undefined) return;
    left.delete(name);
    for (const word of wordsOf(withoutTexts(text))) add(word);
    ordered.set(name, text);
  };
  for (const name of unordered.keys()) add(name);
  return ordered;
}

/** What users choose of the views. */
interface ViewSettings {
  /** In which months begin and end; left out: UTC. */
  readonly timeZone?: string | undefined;
  /** A chart of accounts; left out: the default one. */
  readonly chart?: readonly ChartRow[] | undefined;
  /** Unit costs; left out: none. */
  readonly costs?: readonly CostRow[] | undefined;
}

/** @throws LedgerlakeError USAGE as `readChart` and `readCosts` */
export async function readViewSettings({ timeZone, chart, costs }: QuerySettings): Promise<ViewSettings> {
  return {
    timeZone,
    chart: chart === undefined ? undefined : await readChart(chart),
    costs: costs === undefined ? undefined : await readCosts(costs),
  };
}

/** The texts of `views` for what users choose. */
export function viewTexts({ timeZone = 'UTC', chart, costs = [] }: ViewSettings = {}): ReadonlyMap<string, string> {
  const chosen = new Map([
    ...views,
    ['time_zone', (views.get('time_zone') ?? '').replace("'UTC'", () => literal(timeZone))],
  ]);
  if (chart !== undefined) chosen.set('chart_of_accounts', chartQuery(chart));
  if (costs.length > 0) chosen.set('unit_costs', costsQuery(costs));
  return chosen;
}

/** Statements that create the views by their names, except those named like a table of the lake. */
export function viewStatements(
  tables: readonly { readonly name: string }[],
  settings?: ViewSettings,
): ReadonlyMap<string, string> {
  const own = [...viewTexts(settings)].filter(([name]) => !tables.some((table) => table.name === name));
  return new Map(
    own.map(([name, text]) => [name, isMacro(text) ? text : `CREATE OR REPLACE VIEW ${identifier(name)} AS\n${text}`]),
  );
}

/** What the first comment of a view's text says, a paragraph in one line. */
export function viewComment(text: string): string {
  const comment = /^(?:--.*\n)+/.exec(text)?.[0] ?? '';
  const paragraphs = comment
    .replaceAll(/^-- ?/gm, '')
    .trim()
    .split(/\n{2,}/);
  return paragraphs.map((paragraph) => paragraph.replaceAll('\n', ' ')).join('\n');
}

/** Whether a text creates a macro. */
export function isMacro(text: string): boolean {
  return text.includes('CREATE OR REPLACE MACRO');
}
