import { z } from 'zod';
import { object, textNode } from '../text/schema-nodes.js';
import type { ColumnType, Encoding } from './table.js';

/** Columns and folders that every custom table has besides the columns of its definition. */
export const reservedColumns = ['account', 'month', 'window_start', 'window_end', 'position', 'content_hash', 'raw'];

/** One rule for all names, because they become folders, files and SQL identifiers. */
const name = /^[a-z][a-z0-9_]{0,62}$/;

export const tableName = z.string().regex(name, {
  error: 'a name of small letters, digits and _ that begins with a letter (it names a folder)',
});
export const columnName = z.string().regex(name, { error: 'a name of small letters, digits and _' });
export const pipelineName = z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, {
  error: 'a name of small letters, digits and - that begins with a letter',
});

/** The largest precision of a decimal in 64 bits. */
export const mostDigits = 18;

const digit = `a whole number up to ${mostDigits}`;
const flag = 'true or left out';

const column = object('an object with `name` and `type`', {
  name: columnName,
  type: z.enum(['text', 'instant', 'date', 'decimal', 'bigint', 'integer', 'boolean'] satisfies ColumnType[], {
    error: "a column's type",
  }),
  encoding: z.enum(['dictionary', 'plain', 'delta-length'] satisfies Encoding[], { error: 'an encoding' }),
  nullable: z.boolean({ error: 'true or false' }),
  about: z.string({ error: 'a text' }),
  digits: object('an object with `precision` and `scale`', {
    precision: z.int({ error: digit }).min(1, { error: digit }).max(mostDigits, { error: digit }),
    scale: z.int({ error: digit }).min(0, { error: digit }).max(mostDigits, { error: digit }),
  })
    .refine(({ precision, scale }) => scale <= precision, { error: 'a scale up to the precision' })
    .exactOptional(),
  filtered: z.literal(true, { error: flag }).exactOptional(),
  later: z.literal(true, { error: flag }).exactOptional(),
  unbounded: z.literal(true, { error: flag }).exactOptional(),
});

const tableFields = {
  name: tableName,
  about: textNode('a sentence'),
  columns: z.array(column, { error: 'a list of columns' }).min(1, { error: 'at least one column' }),
  sort: z.array(columnName, { error: 'a list of columns' }),
};

function checkNames(
  { columns, sort }: Pick<z.output<z.ZodObject<typeof tableFields>>, 'columns' | 'sort'>,
  context: z.RefinementCtx,
): void {
  const names = columns.map((one) => one.name);
  const twice = names.findIndex((one, at) => names.indexOf(one) !== at);
  if (twice !== -1) context.addIssue({ code: 'custom', path: ['columns', twice], message: 'each column once' });
  const other = sort.findIndex((one) => !names.includes(one));
  if (other !== -1) context.addIssue({ code: 'custom', path: ['sort', other], message: 'one of the columns' });
}

/**
 * The description of a custom table, as a catalog has it. The schema accepts only what this program writes, because a lake may
 * come from anybody.
 */
export const tableSchema = object('an object with `name`, `columns` and `customPipeline`', {
  ...tableFields,
  customPipeline: pipelineName,
  linesOf: tableName.exactOptional(),
}).superRefine((table, context) => {
  checkNames(table, context);
  if (table.linesOf === table.name) {
    context.addIssue({ code: 'custom', path: ['linesOf'], message: 'a name other than the name of the table' });
  }
});
