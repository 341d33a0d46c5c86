import { z } from 'zod';
import { clientAuthentications } from '../../engine/auth/token-request.js';
import { isBaseAddress, isTokenAddress, tokenAddress } from '../../engine/http/address.js';
import { columnName, mostDigits, pipelineName, reservedColumns, tableName } from '../../core/columns/table-schema.js';
import { object, textNode } from '../../core/text/schema-nodes.js';

const columnType = `one of varchar, timestamp, date, boolean, bigint, integer, decimal(p,s) with s <= p <= ${mostDigits}`;
const customColumnName = `a name of small letters, digits and _ other than ${reservedColumns.join(', ')}`;
const variable = 'a text or {"env": "NAME"}';
const fromEnvironment = '{"env": "NAME"} or {"env": "NAME", "perAccount": true}';
const yesOrNo = 'true or false';
const headerName = 'the name of a header';
const base = 'a base address such as "https://host/prefix", or {"env": "NAME"}';
const days = 'a whole number of days from 1 to 31';
const minutes = 'a whole number of minutes from 1 to 44640 (31 days)';
const positive = 'a number greater than 0';
const countable = 'a whole number from 1';

function named(pattern: RegExp, expected: string) {
  return z.string({ error: expected }).regex(pattern, { error: expected });
}

function whole(expected: string, most = Number.MAX_SAFE_INTEGER) {
  return z.int({ error: expected }).min(1, { error: expected }).max(most, { error: expected });
}

function number(expected: string) {
  return z.number({ error: expected }).positive({ error: expected });
}

const function_ = z.custom<unknown>((value) => typeof value === 'function', { error: 'a function' });

const column = object('an object with `type` and `about`', {
  type: z.string({ error: columnType }).refine(isColumnType, { error: columnType }),
  about: textNode('a sentence').optional(),
});

const tableFields = {
  name: tableName,
  about: textNode('a sentence'),
  columns: z
    .record(
      z.string().refine((name) => columnName.safeParse(name).success && !reservedColumns.includes(name), {
        error: customColumnName,
      }),
      column,
      'an object of columns by name',
    )
    .refine((columns) => Object.keys(columns).length > 0, { error: 'at least one column' }),
  sort: z.array(textNode('the name of a column'), { error: 'a list of columns' }).optional(),
};

function checkSort(
  { columns, sort = [] }: { readonly columns: object; readonly sort?: readonly string[] | undefined },
  context: z.RefinementCtx,
): void {
  sort.forEach((name, at) => {
    if (!Object.hasOwn(columns, name)) {
      context.addIssue({ code: 'custom', path: ['sort', at], message: `one of ${Object.keys(columns).join(', ')}` });
    }
  });
}

const tableShape = 'an object with `name`, `about` and `columns`';
const table = object(tableShape, {
  ...tableFields,
  raw: z.boolean({ error: yesOrNo }).optional(),
}).superRefine(checkSort);

const lines = object('an object with `rows` and `table`', {
  rows: function_,
  table: object(tableShape, tableFields).superRefine(checkSort),
});

const variableFields = { env: textNode(fromEnvironment), perAccount: z.boolean({ error: yesOrNo }).optional() };

const signIn = object('an object with `tokenEndpoint`, `clientId` and `clientSecret`', {
  tokenEndpoint: z.union(
    [
      z.string({ error: tokenAddress }).refine(isTokenAddress, { error: tokenAddress }),
      object(tokenAddress, variableFields),
    ],
    { error: tokenAddress },
  ),
  clientId: z.union([textNode(variable), object(variable, variableFields)], { error: variable }),
  clientSecret: object(fromEnvironment, variableFields),
  refreshToken: object(fromEnvironment, variableFields).optional(),
  scope: textNode('a text').optional(),
  authentication: z.enum(clientAuthentications, { error: `one of ${clientAuthentications.join(', ')}` }).optional(),
  header: object('an object with `name`', {
    name: named(/^[\w-]{1,64}$/, headerName),
    before: textNode('a text').optional(),
  }).optional(),
});

const api = object('an object with `address`', {
  address: z.union([z.string({ error: base }).refine(isBaseAddress, { error: base }), object(base, variableFields)], {
    error: base,
  }),
  headers: z
    .record(
      named(/^[\w-]{1,64}$/, headerName),
      z.union([textNode(variable), object(variable, { ...variableFields, before: textNode('a text').optional() })], {
        error: variable,
      }),
      'an object of headers by name',
    )
    .optional(),
  signIn: signIn.optional(),
  quota: object('an object with `rate` and `burst`', {
    rate: number(positive),
    burst: whole(countable),
    rateHeader: named(/^[\w-]{1,64}$/, headerName).optional(),
  }).optional(),
  pageSize: whole(countable).optional(),
  cursorLifeMinutes: number(positive).optional(),
  timeoutSeconds: number(positive).optional(),
  causeOf: function_.optional(),
  causeOfPage: function_.optional(),
  messageOf: function_.optional(),
});

/** The shape of a definition; each `error` is what was expected there, in words. */
export const definitionSchema = object(
  'an object with `name`, `about`, `api`, `first`, `records`, `rows` and `table`',
  {
    name: pipelineName,
    about: textNode('a sentence'),
    api,
    windows: object('an object with `days`', {
      days: whole(days, 31).optional(),
      probeDays: whole(days, 31).optional(),
      guessPerDay: number(positive).optional(),
      longestDays: whole(days, 31).optional(),
      latenessMinutes: whole(minutes, 31 * 1440).optional(),
    }).optional(),
    first: function_,
    next: function_.optional(),
    records: function_,
    rows: function_,
    table,
    lines: lines.optional(),
  },
);

function isColumnType(type: string): boolean {
  const [, precision, scale] = /^decimal\((\d{1,2}),(\d{1,2})\)$/.exec(type) ?? [];
  if (precision === undefined) return ['varchar', 'timestamp', 'date', 'boolean', 'bigint', 'integer'].includes(type);
  return Number(precision) >= 1 && Number(precision) <= mostDigits && Number(scale) <= Number(precision);
}
