import { sqlType, type Table } from '../../src/core/columns/table.js';
import { eventLists, recordOf } from '../../src/sources/finances/api-v0/event-records.js';
import { tables } from '../../src/sources/finances/lake-tables.js';

/** `docs/tables.md`: tables and columns, lists and amounts, as the code itself has them. */
export function tablesPage(): string {
  return [
    '# Tables and columns',
    '',
    'Generated from the code. Each table also has the columns `account` and `month` (VARCHAR): they are its partitions, folders',
    "and not columns of its files. `month` is the UTC month of the slice's window; of the settlement's start in `group_*`; of the",
    "order's first dated event in `order_*`, `unknown` where there is none.",
    '',
    ...tables.flatMap(tableSection),
    '## Ids',
    '',
    '- `content_hash` is the first half of SHA-256 over the name of the list, a zero byte and `raw`, in hexadecimal digits.',
    '- `event_id` is `content_hash`; for an event without a date of its own the same hash with another zero byte and',
    '  `window_start` (ISO 8601, milliseconds, `Z`) appended, of an imported one also a zero byte and `window_end`. In `group_*` and `order_*` it begins with the requested settlement or',
    '  order and a colon. The second, third … identical event of a slice has `-2`, `-3` … at its end: both may be genuine.',
    '',
    '## Lists and amounts',
    '',
    'Which amounts count (`net`), and which repeat what others count (`memo`). Any other amount is kept with the kind and the role',
    '`unknown`, and the summary of a run reports it.',
    '',
    '| `event_list` | date | `path` | `kind` | `role` |',
    '| --- | --- | --- | --- | --- |',
    ...Object.keys(eventLists).flatMap(listRows),
    '',
  ].join('\n');
}

function tableSection({ name, about, columns }: Table): string[] {
  return [
    `## ${name}`,
    '',
    about,
    '',
    '| column | type | |',
    '| --- | --- | --- |',
    ...columns.map((column) => {
      return `| \`${column.name}\` | ${sqlType(column)}${column.nullable ? ', null' : ''} | ${column.about} |`;
    }),
    '',
  ];
}

function listRows(list: string): string[] {
  const record = recordOf(list);
  if (record === undefined) return [];
  return record.amounts.map(({ path, kind, role }, index) => {
    const [name, date] =
      index === 0 ? [`\`${list}\``, record.date === undefined ? 'none' : `\`${record.date}\``] : ['', ''];
    return `| ${name} | ${date} | \`${path}\` | ${kind} | ${role} |`;
  });
}
