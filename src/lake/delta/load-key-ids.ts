import type { Action, Txn } from './actions.js';

const unitPrefix = 'ledgerlake';
const ownPrefix = `${unitPrefix}/`;

/** The transaction that says that a pipeline has read a unit for an account. */
export function unitId(pipeline: string, account: string, unit: string): string {
  return [unitPrefix, pipeline, account, unit].join('/');
}

/** In the place of a pipeline: the transaction names a file of a lasting table. */
const naming = '_names';
const namingPrefix = `${unitPrefix}/${naming}/`;

/** The transaction by which a main table's log names a file of a lasting table for good: a path within the lake. */
export function namingTxn(account: string, path: string, now: number): Action {
  return { txn: { appId: unitId(naming, account, path), version: 1, lastUpdated: now } };
}

/** The path of the file of a lasting table that a transaction names; undefined for one that stands for a unit. */
export function namedByTxn(id: string): string | undefined {
  return id.startsWith(namingPrefix) ? readUnit(id)?.unit : undefined;
}

/** Whom a transaction of the log is of; undefined for another program's. A log has very many of them when it is opened. */
export function accountOfTxn(id: string): string | undefined {
  if (!id.startsWith(ownPrefix)) return undefined;
  const from = id.indexOf('/', unitPrefix.length + 1) + 1;
  const to = id.indexOf('/', from);
  return from === 0 ? '' : id.slice(from, to < 0 ? undefined : to);
}

/** What a transaction of the log stands for; undefined for another program's. */
export function readUnit(id: string): { pipeline: string; account: string; unit: string } | undefined {
  const [prefix, pipeline = '', account = '', ...unit] = id.split('/');
  return prefix === unitPrefix ? { pipeline, account, unit: unit.join('/') } : undefined;
}

/** Whether a transaction's unit counts as read: a log can't forget a transaction, so one below 0 says that it no longer does. */
export function isRead({ version }: Txn): boolean {
  return version > 0;
}
