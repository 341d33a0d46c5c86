import { hash } from 'node:crypto';
import { formatCount } from '../../core/text/amounts.js';
import { isChecked, type Action } from './actions.js';
import { isReadable, type DeltaLog, type SkippedCheckpoint } from './delta-log.js';

/** A checkpoint that contradicts the commits up to its version. */
interface WrongCheckpoint extends SkippedCheckpoint {
  readonly fault: string;
  /** Whether each of these commits has a checksum, so that the checkpoint is what is wrong. */
  readonly isCertain: boolean;
}

interface DamagedCommit {
  /** Within the lake. */
  readonly path: string;
  /** The reason, without advice. */
  readonly fault: string;
}

export interface Replay {
  /** The checkpoint where it contradicts the commits; undefined where it doesn't, or can't be compared. */
  readonly wrong: WrongCheckpoint | undefined;
  readonly commits: readonly DamagedCommit[];
}

/**
 * Replays the commits of a log up to a checkpoint, and compares the resulting state with the checkpoint: files with
 * size, partition, statistics and tags, transactions, metaData and protocol. Where the log's start was removed, or a
 * commit can't be read, the replay starts at the next checkpoint. Memory holds a hash of each file and transaction.
 */
export async function replayLog(log: DeltaLog, upTo: number): Promise<Replay> {
  const commits: DamagedCommit[] = [];
  const checkpointed = new Set(await log.checkpoints());
  const versions = new Set([...(await log.commits()), ...checkpointed]);
  const wanted = [...versions].filter((version) => version <= upTo).toSorted((a, b) => a - b);
  let wrong: WrongCheckpoint | undefined;
  let state: State | undefined = new State();
  let before = -1;
  for await (const { version, actions, fault } of log.readCommits(wanted)) {
    if (fault !== undefined) commits.push({ path: log.commitPath(version), fault });
    if (actions === undefined || version !== before + 1) state = undefined;
    before = version;
    if (state !== undefined && actions !== undefined) state.applyCommit(actions);
    // The checkpoint behind a FENCE commit may leave out transactions, as a log cleanup does.
    const mayForget = actions?.some((action) => 'commitInfo' in action && action.commitInfo['operation'] === 'FENCE');
    const isNeeded = version === upTo || state === undefined || mayForget === true;
    const checkpoint = isNeeded && checkpointed.has(version) ? await log.checkpoint(version) : undefined;
    if (checkpoint === undefined || !isReadable(checkpoint)) continue;
    const checkpointState = new State();
    for (const action of checkpoint.actions) checkpointState.apply(action);
    const difference = state?.differenceTo(checkpointState, mayForget === true);
    if (state === undefined || (mayForget === true && difference === undefined)) state = checkpointState;
    if (version === upTo && difference !== undefined)
      wrong = { version, path: log.checkpointPath(version), fault: difference, isCertain: state.isCertain };
  }
  return { wrong, commits };
}

/** The state of a table by commits or a checkpoint, as hashes. */
class State {
  isCertain = true;
  readonly #files = new Map<string, string>();
  readonly #txns = new Map<string, string>();
  readonly #table = new Map<string, string>();

  applyCommit(actions: readonly Action[]): void {
    if (!isChecked(actions)) this.isCertain = false;
    for (const action of actions) this.apply(action);
  }

  apply(action: Action): void {
    if ('add' in action) {
      const { path, size, partitionValues, stats, tags } = action.add;
      this.#files.set(path, hashOf(size, entries(partitionValues), stats, entries(tags)));
    } else if ('remove' in action) this.#files.delete(action.remove.path);
    else if ('txn' in action) this.#txns.set(action.txn.appId, hashOf(action.txn.version, action.txn.lastUpdated));
    else if ('metaData' in action) {
      const { id, schemaString, partitionColumns, configuration } = action.metaData;
      this.#table.set('metaData', hashOf(id, schemaString, partitionColumns, entries(configuration)));
    } else if ('protocol' in action) {
      const { minReaderVersion, minWriterVersion } = action.protocol;
      this.#table.set('protocol', hashOf(minReaderVersion, minWriterVersion));
    }
  }

  /** How a checkpoint's state differs from this one, in words; undefined where they are equal. */
  differenceTo(other: State, mayForget: boolean): string | undefined {
    const texts = [
      ...differing(this.#files, other.#files, 'file', false),
      ...differing(this.#txns, other.#txns, 'transaction', mayForget),
      ...differing(this.#table, other.#table, 'description of the table', false),
    ];
    return texts.length === 0 ? undefined : texts.join(', ');
  }
}

function differing(
  replayed: ReadonlyMap<string, string>,
  checkpointed: ReadonlyMap<string, string>,
  what: string,
  mayLack: boolean,
): string[] {
  const lacking = mayLack ? [] : [...replayed.keys()].filter((key) => !checkpointed.has(key));
  const more = [...checkpointed.keys()].filter((key) => !replayed.has(key));
  const other = [...replayed]
    .filter(([key, hash]) => checkpointed.has(key) && checkpointed.get(key) !== hash)
    .map(([key]) => key);
  const text = (verb: string, keys: readonly string[]) =>
    keys.length === 0 ? [] : [`it ${verb} ${formatCount(keys.length, what)} (${(keys[0] ?? '').slice(0, 100)})`];
  return [...text('lacks', lacking), ...text('has beside them', more), ...text('says something else of', other)];
}

/** Sorted, and without nulls, which a checkpoint can't distinguish from absent entries. */
function entries(map: Readonly<Record<string, string | null>> = {}): unknown {
  return Object.entries(map)
    .filter(([, value]) => value !== null)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function hashOf(...values: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(values), 'base64').slice(0, 22);
}
