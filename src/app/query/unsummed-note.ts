import { formatCount } from '../../core/text/amounts.js';
import type { Lake } from '../../lake/lake.js';
import { unsummedColumn as column, unsummedIn, unsummedText } from '../unsummed-amounts.js';
import { namesIn, withoutTexts } from './named-tables.js';

/** A note for a statement that reads amounts of which no sum has all; undefined for any other, and for one that reads their texts. */
export function unsummedNote(statement: string, lake: Lake): string | undefined {
  if (new RegExp(`\\b${column}\\b`, 'i').test(withoutTexts(statement))) return undefined;
  const names = namesIn(statement);
  const counts = new Map<string, number>();
  for (const { table, add } of lake.committedAdds()) {
    const { name } = table.schema;
    if (names.has(name)) counts.set(name, (counts.get(name) ?? 0) + unsummedIn(add));
  }
  const [first, ...others] = [...counts].filter(([, count]) => count > 0);
  if (first === undefined) return undefined;
  const [table, count] = first;
  const more = others.map(([name, of]) => `; ${formatCount(of)} of ${name}`).join('');
  return (
    `WARNING: ${table}: ${unsummedText(count)}${more}: ` +
    `\`SELECT currency, ${column} FROM ${table} WHERE ${column} IS NOT NULL\` lists them`
  );
}
