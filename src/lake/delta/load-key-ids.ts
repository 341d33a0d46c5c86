import type { Action, Txn } from './actions.js';

const appIdPrefix = 'ledgerlake';
const ownPrefix = `${appIdPrefix}/`;

/** The transaction that says that a pipeline has read a load key for an account. */
export function loadKeyAppId(pipeline: string, account: string, loadKey: string): string {
  return [appIdPrefix, pipeline, account, loadKey].join('/');
}

/** In the place of a pipeline: the transaction names a file of a lasting table. */
const referencePipeline = '_names';
const referencePrefix = `${appIdPrefix}/${referencePipeline}/`;

/** The transaction by which a main table's log names a file of a lasting table for good: a path within the lake. */
export function referenceTxn(account: string, path: string, now: number): Action {
  return { txn: { appId: loadKeyAppId(referencePipeline, account, path), version: 1, lastUpdated: now } };
}

/** The path of the file of a lasting table that a transaction names; undefined for one that stands for a load key. */
export function referencedByTxn(id: string): string | undefined {
  return id.startsWith(referencePrefix) ? parseAppId(id)?.loadKey : undefined;
}

/** Whom a transaction of the log is of; undefined for another program's. A log has very many of them when it is opened. */
export function accountOfTxn(id: string): string | undefined {
  if (!id.startsWith(ownPrefix)) return undefined;
  const from = id.indexOf('/', appIdPrefix.length + 1) + 1;
  const to = id.indexOf('/', from);
  return from === 0 ? '' : id.slice(from, to < 0 ? undefined : to);
}

/** What a transaction of the log stands for; undefined for another program's. */
export function parseAppId(id: string): { pipeline: string; account: string; loadKey: string } | undefined {
  const [prefix, pipeline = '', account = '', ...key] = id.split('/');
  return prefix === appIdPrefix ? { pipeline, account, loadKey: key.join('/') } : undefined;
}

/** Whether a transaction's load key counts as read: a log can't forget a transaction, so one below 0 says that it no longer does. */
export function isLoaded({ version }: Txn): boolean {
  return version > 0;
}
