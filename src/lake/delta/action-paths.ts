import type { LedgerlakeError } from '../../core/errors.js';
import { catalogError, type Action } from './actions.js';
import { pathFault } from '../store/store.js';

/**
 * Checks the paths of a log's action before they are used: each file must be in the table's folders, it and the
 * main table's file that it names in those of its account, and no name may begin with `_`.
 *
 * @param location the log and its version, for messages
 * @throws LedgerlakeError LAKE_LOG naming the location and the path
 */
export function checkActionPaths(action: Action, location: string): void {
  if ('add' in action) {
    const { add } = action;
    const account = add.partitionValues['account'] ?? add.tags?.['account'];
    const fault = fileFault(add.path, account);
    if (fault !== undefined) throw strayPath(location, add.path, fault);
    const main = add.tags?.['main'];
    const named = main === undefined ? undefined : decodedPathFault(main, account);
    if (main !== undefined && named !== undefined) throw strayPath(location, main, named);
  } else if ('remove' in action) {
    const { path } = action.remove;
    const fault = fileFault(path, action.remove.partitionValues?.['account']);
    if (fault !== undefined) throw strayPath(location, path, fault);
  }
}

function fileFault(path: string, account: string | null | undefined): string | undefined {
  const decoded = decodedPath(path);
  return decoded === undefined ? 'it is not percent-encoded' : decodedPathFault(decoded, account);
}

/** Names that begin with `_` are no data: logs, leases, page journals. */
function decodedPathFault(path: string, account: string | null | undefined): string | undefined {
  const isHidden = path.startsWith('_') || path.includes('/_');
  return pathFault(path) ?? (isHidden ? 'a name in it begins with `_`' : undefined) ?? accountFault(path, account);
}

/** A file's folder must match the account of its log entry, so that its rows can't be attributed to another account. */
function accountFault(path: string, account: string | null | undefined): string | undefined {
  if (account === undefined || account === null) return undefined;
  for (const name of path.split('/').slice(0, -1)) {
    const [, folder] = /^account=(.*)$/s.exec(name) ?? [];
    // Other writers escape values in the names of folders as well.
    if (folder === undefined || folder === account || decodedPath(folder) === account) continue;
    return `its entry has account=${account.slice(0, 60)}`;
  }
  return undefined;
}

function decodedPath(path: string): string | undefined {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

function strayPath(location: string, path: string, fault: string): LedgerlakeError {
  const found = JSON.stringify(path.slice(0, 200));
  return catalogError(
    `expected paths within the table in ${location}, found ${found}: ${fault}; another program has changed it`,
  );
}
