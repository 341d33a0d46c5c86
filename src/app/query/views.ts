import { identifier, literal } from '../../core/duckdb/literals.js';
import { textsByName, withoutTexts, wordsOf } from '../../core/duckdb/sql-statements.js';
import { chartQuery, type ChartRow } from './chart.js';
import { costsQuery, type CostRow } from './costs.js';
import { marketplaces } from '../../sources/finances/model/marketplaces.js';

const marketplaceRows = marketplaces
  .map(({ id, name, country, currency, timeZone: zone }) => [id, name, country, currency, zone].map(literal).join(', '))
  .map((values) => `(${values})`)
  .join(',\n  ');

const texts = textsByName(import.meta.glob<string>('./views/*.sql', { eager: true, import: 'default' }));

/** The views over a lake's tables by their names: the query of a view, or the statement that creates a macro; each behind those that it reads. */
export const views = inOrder(
  new Map([...texts, ['marketplaces', (texts.get('marketplaces') ?? '').replace('$rows', () => marketplaceRows)]]),
);

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

/**
 * The texts of `views` for a time zone, in which months begin and end, a chart of accounts (left out: the default one) and unit costs.
 */
export function viewTexts(
  zone: string,
  chart: readonly ChartRow[] | undefined,
  costs: readonly CostRow[] = [],
): ReadonlyMap<string, string> {
  const replaced = new Map([
    ...views,
    ['time_zone', (views.get('time_zone') ?? '').replace("'UTC'", () => literal(zone))],
  ]);
  if (chart !== undefined) replaced.set('chart_of_accounts', chartQuery(chart));
  if (costs.length > 0) replaced.set('unit_costs', costsQuery(costs));
  return replaced;
}

/**
 * Statements that create the views by their names, except those named like a table of the lake.
 *
 * @param zone, chart, costs as `viewTexts`
 */
export function viewStatements(
  tables: readonly { readonly name: string }[],
  zone = 'UTC',
  chart?: readonly ChartRow[],
  costs?: readonly CostRow[],
): ReadonlyMap<string, string> {
  const own = [...viewTexts(zone, chart, costs)].filter(([name]) => !tables.some((table) => table.name === name));
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
