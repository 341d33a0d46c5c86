import { randomFrom, type Random } from './random.js';

/** Stands for a member whose key comes a second time, with null. */
const twice = Symbol('twice');

/** What is done to a value of a record. */
export const valueKinds = {
  dropped: () => undefined,
  null: () => null,
  number: (random) => random.of([0, -1, 1.5, 1e300, 12345678901234567890n]),
  text: (random) => random.of(['', 'x', '..', '.', '%2e%2e%2f', '../../etc/passwd', '2025-05-01', '0001-01-01', '-5']),
  'odd text': (random) => random.of(['\u0000', 'a\u001b[2Jb\n\r', '\u202e', '😀', "';--", '\\"', '\ud800']),
  'long text': () => 'x'.repeat(20_000),
  boolean: (random) => random.chance(0.5),
  object: () => ({ CurrencyCode: 5, CurrencyAmount: { a: 1 } }),
  array: () => [null, 1, 'x', {}, []],
  date: (random) =>
    random.of(['2025-05-01T00:00:00+05:30', '20250501T000000Z', '9999-12-31T23:59:59Z', '2025-02-30', '1746057600']),
  'key twice': () => twice,
} satisfies Readonly<Record<string, (random: Random) => unknown>>;

export type ValueKind = keyof typeof valueKinds;

/** JSON of a value in which one member, chosen by chance, is mutated; of one without members, of what stands in its place. */
export function mutatedRecord(record: unknown, kind: ValueKind, seed: number): string {
  const random = randomFrom(seed);
  const holders: object[] = [];
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (Object.keys(value).length > 0) holders.push(value);
    for (const inner of Object.values(value)) collect(inner);
  };
  collect(record);
  const top = typeof record === 'object' && record !== null ? record : {};
  const holder = random.chance(0.4) || holders.length === 0 ? top : random.of(holders);
  const keys = Object.keys(holder);
  const key = keys.length === 0 ? 'x' : random.of(keys);
  const put: unknown = valueKinds[kind](random);
  return textOf(record, holder, key, put);
}

function textOf(value: unknown, holder: object, key: string, put: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const isHolder = value === holder;
  if (Array.isArray(value)) {
    const items = value.flatMap((item: unknown, at) => {
      if (!isHolder || String(at) !== key) return [textOf(item, holder, key, put)];
      return put === undefined || put === twice ? [] : [plain(put)];
    });
    return `[${items.join(',')}]`;
  }
  const members = Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const own = `${JSON.stringify(name)}:${textOf(member, holder, key, put)}`;
    if (!isHolder || name !== key) return [own];
    if (put === twice) return [own, `${JSON.stringify(name)}:null`];
    return put === undefined ? [] : [`${JSON.stringify(name)}:${plain(put)}`];
  });
  return `{${members.join(',')}}`;
}

function plain(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

/** What is done to an answer around its records. */
export const envelopeKinds = {
  'payload null': () => ({ payload: null }),
  'payload missing': () => ({}),
  'payload an array': () => ({ payload: [] }),
  'results null': ({ payload }) => ({ payload: { ...payload, FinancialEvents: null, FinancialEventGroupList: null } }),
  'results a text': ({ payload }) => ({ payload: { ...payload, FinancialEvents: 'x', FinancialEventGroupList: 'x' } }),
  'results of the other kind': ({ payload }) => ({
    payload: {
      ...payload,
      ...('FinancialEvents' in payload ? { FinancialEvents: [] } : {}),
      ...('FinancialEventGroupList' in payload ? { FinancialEventGroupList: {} } : {}),
    },
  }),
  'lists null': ({ payload }) => ({ payload: { ...payload, FinancialEvents: eachList(payload, () => null) } }),
  'lists objects': ({ payload }) => ({
    payload: { ...payload, FinancialEvents: eachList(payload, (list) => list[0] ?? {}) },
  }),
  'token empty': ({ payload }) => ({ payload: { ...payload, NextToken: '' } }),
  'token null': ({ payload }) => ({ payload: { ...payload, NextToken: null } }),
  'token a number': ({ payload }) => ({ payload: { ...payload, NextToken: 7 } }),
  'token an object': ({ payload }) => ({ payload: { ...payload, NextToken: {} } }),
  'errors beside': (body) => ({ ...body, errors: [{ code: 'x', message: 'y' }] }),
} satisfies Readonly<Record<string, (body: Body) => unknown>>;

export type EnvelopeKind = keyof typeof envelopeKinds;

export interface Payload {
  readonly NextToken?: unknown;
  readonly FinancialEvents?: Readonly<Record<string, readonly unknown[]>>;
  readonly FinancialEventGroupList?: readonly unknown[];
}

export interface Body {
  readonly payload: Payload;
}

function eachList({ FinancialEvents = {} }: Payload, of: (list: readonly unknown[]) => unknown): unknown {
  return Object.fromEntries(Object.entries(FinancialEvents).map(([name, list]) => [name, of(list)]));
}
