import { LedgerlakeError } from '../../core/errors.js';
import { decodeActions, type Action, type Remove } from './actions.js';
import { decodeCheckpoint } from './checkpoint.js';
import type { Store } from '../store/store.js';

/** Commit files that are read at once when a log is opened. */
const readAhead = 32;

/** What a log holds from some version on. */
export interface LogTail {
  /** Actions of a checkpoint, which stand for everything up to its version; undefined where none was used. */
  readonly checkpoint: { readonly version: number; readonly actions: readonly Action[] } | undefined;
  /** The actions of each version behind it, in order. */
  readonly commits: readonly (readonly Action[])[];
}

/** The files of one table's Delta log. */
export class DeltaLog {
  readonly #store: Store;
  readonly #folder: string;

  constructor(store: Store, table: string) {
    this.#store = store;
    this.#folder = `${table}/_delta_log`;
  }

  /** `LAKE/TABLE/_delta_log`, for messages. */
  get location(): string {
    return `${this.#store.location}/${this.#folder}`;
  }

  commitPath(version: number): string {
    return `${this.#folder}/${padded(version)}.json`;
  }

  /**
   * Reads the log from its newest checkpoint on.
   *
   * @throws LedgerlakeError LAKE_LOG where a file is damaged or missing
   */
  async open(): Promise<LogTail> {
    for (;;) {
      const hint = await this.newestCheckpoint();
      try {
        return await this.#open(hint);
      } catch (error) {
        // A log that was cut while it was read begins at another checkpoint now.
        if (
          !(error instanceof LedgerlakeError) ||
          error.code !== 'LAKE_LOG' ||
          (await this.newestCheckpoint()) === hint
        )
          throw error;
      }
    }
  }

  async #open(hint: number | undefined): Promise<LogTail> {
    const hinted = hint === undefined ? undefined : await this.#from(hint);
    if (hinted !== undefined) return hinted;
    // No hint, or one that leads nowhere: the folder itself tells.
    for (const { version } of (await this.#checkpoints()).toReversed()) {
      const tail = await this.#from(version);
      if (tail !== undefined) return tail;
    }
    return { checkpoint: undefined, commits: await this.#commitsBehind(-1) };
  }

  /** The actions of one version, or undefined where it isn't committed yet. */
  async commit(version: number): Promise<readonly Action[] | undefined> {
    const path = this.commitPath(version);
    const bytes = await this.#store.read(path);
    return bytes === undefined ? undefined : decodeActions(bytes, `${this.#store.location}/${path}`);
  }

  /** The newest removal of each path up to a version: read backwards until all are found, or the log begins. */
  async removals(upTo: number, paths: ReadonlySet<string>): Promise<readonly Remove[]> {
    const found = new Map<string, Remove>();
    for (let version = upTo; version >= 0 && found.size < paths.size; version--) {
      const actions = await this.commit(version);
      if (actions === undefined) break;
      for (const action of actions) {
        if (!('remove' in action)) continue;
        const { path } = action.remove;
        if (paths.has(path) && !found.has(path)) found.set(path, action.remove);
      }
    }
    return [...found.values()];
  }

  /** Puts a checkpoint beside the log and points to it; readers that miss either still have every commit. */
  async writeCheckpoint(version: number, bytes: Uint8Array, actions: number): Promise<void> {
    await this.#store.write(this.#checkpointPath(version), bytes);
    const hint = { version, size: actions, sizeInBytes: bytes.length };
    await this.#store.write(`${this.#folder}/_last_checkpoint`, Buffer.from(JSON.stringify(hint)));
  }

  /**
   * Whether a version that was the newest one once is no longer in the log, as it begins behind it now; for -1, whether
   * a log that wasn't there has begun behind its first version.
   */
  async isCutOff(version: number): Promise<boolean> {
    if (version < 0) return (await this.newestCheckpoint()) !== undefined;
    return (await this.#store.readRange(this.commitPath(version), 0, 1)) === undefined;
  }

  /**
   * Removes every file of older versions, so that the log begins at this version's checkpoint (protocol, "Metadata
   * Cleanup"). The oldest goes first: whoever stands at a version finds it gone before the one behind it is.
   *
   * @throws LedgerlakeError LAKE_LOG where there is no such checkpoint, before anything is removed
   */
  async cut(version: number): Promise<void> {
    if ((await this.#checkpoint(version)) === undefined) {
      throw new LedgerlakeError(
        'LAKE_LOG',
        `expected a checkpoint of version ${version} in ${this.location}, it can't be read; its older versions stay, run again`,
      );
    }
    const older: string[] = [];
    for await (const { path } of this.#store.list(this.#folder)) {
      const [, found] = /\/(\d{20})\.[^/]*$/.exec(path) ?? [];
      if (found !== undefined && Number(found) < version) older.push(path);
    }
    for (const path of older) await this.#store.remove(path);
  }

  /**
   * Removes the checkpoints that have been superseded since before an instant (milliseconds since 1970): who has opened the
   * log after it began at a newer one. The newest stays, and so does that of `_last_checkpoint`, without which, or where
   * it can't be read back, all stay: with the commits behind it, it is all that a log whose beginning was cut consists of.
   */
  async dropCheckpoints(supersededBefore: number): Promise<void> {
    const checkpoints = await this.#checkpoints();
    const old = checkpoints.filter((_, at) => (checkpoints[at + 1]?.modifiedAt ?? Infinity) < supersededBefore);
    const hint = old.length === 0 ? undefined : await this.newestCheckpoint();
    const gone = old.filter(({ version }) => hint !== undefined && version < hint);
    if (hint === undefined || gone.length === 0 || (await this.#checkpoint(hint)) === undefined) return;
    for (const { version } of gone) await this.#store.remove(this.#checkpointPath(version));
  }

  /** The checkpoints that are there, the oldest first. */
  async #checkpoints(): Promise<{ version: number; modifiedAt: number }[]> {
    const checkpoints: { version: number; modifiedAt: number }[] = [];
    for await (const { path, modifiedAt } of this.#store.list(this.#folder)) {
      const [, version] = /\/(\d{20})\.checkpoint\.parquet$/.exec(path) ?? [];
      if (version !== undefined) checkpoints.push({ version: Number(version), modifiedAt });
    }
    return checkpoints;
  }

  /** Takes a commit file away that was put below the log's beginning. */
  async discard(version: number): Promise<void> {
    await this.#store.remove(this.commitPath(version));
  }

  #checkpointPath(version: number): string {
    return `${this.#folder}/${padded(version)}.checkpoint.parquet`;
  }

  /** The version that `_last_checkpoint` names. It is a hint: one that can't be read costs a listing. */
  async newestCheckpoint(): Promise<number | undefined> {
    const bytes = await this.#store.read(`${this.#folder}/_last_checkpoint`);
    if (bytes === undefined) return undefined;
    try {
      const hint = JSON.parse(Buffer.from(bytes).toString('utf8')) as { version?: unknown } | null;
      return Number.isSafeInteger(hint?.version) ? (hint?.version as number) : undefined;
    } catch {
      return undefined;
    }
  }

  async #from(version: number): Promise<LogTail | undefined> {
    const actions = await this.#checkpoint(version);
    return actions && { checkpoint: { version, actions }, commits: await this.#commitsBehind(version) };
  }

  async #checkpoint(version: number): Promise<readonly Action[] | undefined> {
    const path = this.#checkpointPath(version);
    const bytes = await this.#store.read(path);
    if (bytes === undefined) return undefined;
    try {
      return await decodeCheckpoint(bytes, `${this.#store.location}/${path}`);
    } catch {
      // A checkpoint repeats what the commits say: a damaged one is passed over while they are there.
      return undefined;
    }
  }

  /** Lists the commits behind a version and reads them, several at once. */
  async #commitsBehind(version: number): Promise<(readonly Action[])[]> {
    let newest = version;
    const after = version < 0 ? undefined : this.commitPath(version);
    for await (const { path } of this.#store.list(this.#folder, after)) {
      const [, found] = /\/(\d{20})\.json$/.exec(path) ?? [];
      if (found !== undefined) newest = Math.max(newest, Number(found));
    }
    const commits: (readonly Action[])[] = [];
    for (let next = version + 1; next <= newest; next += readAhead) {
      // Every one up to the newest, listed or not: a folder that others write to may be listed with one and without the one before.
      const wanted = Array.from({ length: Math.min(readAhead, newest + 1 - next) }, (_, at) => next + at);
      const read = await Promise.all(wanted.map((each) => this.commit(each)));
      for (const [at, actions] of read.entries()) {
        if (actions === undefined) {
          throw new LedgerlakeError(
            'LAKE_LOG',
            `expected version ${next + at} in ${this.location}, it is missing; restore the file from a copy`,
          );
        }
        commits.push(actions);
      }
    }
    return commits;
  }
}

function padded(version: number): string {
  return String(version).padStart(20, '0');
}
