import { isChecked, type Action, type Add, type MetaData, type Protocol, type Txn } from './actions.js';
import { isReadable, type DeltaLog } from './delta-log.js';
import { checkLoggedPaths } from './log-paths.js';

/** The remains of a damaged log: the content of its verified commits and checkpoints. */
export interface LogRemains {
  /** Files that were added and not removed, by their path in the log, with the newest add. */
  readonly files: ReadonlyMap<string, { readonly add: Add; readonly version: number }>;
  /** Paths that were added and removed. */
  readonly removed: ReadonlySet<string>;
  readonly txns: ReadonlyMap<string, Txn>;
  readonly metaData: MetaData | undefined;
  /** All protocol actions, also those of unverified commits. */
  readonly protocols: readonly Protocol[];
}

/**
 * Reads the remains of a damaged log: its newest verified checkpoint and the verified commits behind it. Commits and
 * checkpoints without a checksum are ignored, and so are paths outside of the table.
 */
export async function readRemains(log: DeltaLog): Promise<LogRemains> {
  const files = new Map<string, { add: Add; version: number }>();
  const removed = new Set<string>();
  const txns = new Map<string, Txn>();
  const protocols: Protocol[] = [];
  let metaData: MetaData | undefined;
  const apply = (actions: readonly Action[], version: number): void => {
    for (const action of actions) {
      if (!isWithinTable(action, log.location)) continue;
      if ('metaData' in action) metaData = action.metaData;
      else if ('txn' in action) txns.set(action.txn.appId, action.txn);
      else if ('add' in action) {
        files.set(action.add.path, { add: action.add, version });
        removed.delete(action.add.path);
      } else if ('remove' in action) {
        files.delete(action.remove.path);
        removed.add(action.remove.path);
      }
    }
  };
  let from = -1;
  for (const version of (await log.checkpoints()).toReversed()) {
    const checkpoint = await log.checkpoint(version);
    if (!isReadable(checkpoint)) continue;
    protocols.push(...protocolsIn(checkpoint.actions));
    apply(checkpoint.actions, version);
    from = version;
    break;
  }
  const versions = (await log.commits()).filter((version) => version > from && Number.isSafeInteger(version));
  for await (const { version, actions } of log.readCommits(versions)) {
    if (actions === undefined) continue;
    protocols.push(...protocolsIn(actions));
    if (isChecked(actions)) apply(actions, version);
  }
  return { files, removed, txns, metaData, protocols };
}

function protocolsIn(actions: readonly Action[]): Protocol[] {
  return actions.flatMap((action) => ('protocol' in action ? action.protocol : []));
}

function isWithinTable(action: Action, location: string): boolean {
  try {
    checkLoggedPaths(action, location);
    return true;
  } catch {
    return false;
  }
}
