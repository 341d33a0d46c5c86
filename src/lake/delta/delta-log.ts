import { createHash } from 'node:crypto';
import { codeOf, LedgerlakeError } from '../../core/errors.js';
import { decodeActions, isObject, logError, logFault, type Action, type Fields, type Remove } from './actions.js';
import { checksumOf, withChecksum, decodeCheckpoint, decodeUnchecked } from './checkpoint.js';
import { compareBytes, parseNote, type Store } from '../store/store.js';

/** Commit files that are read concurrently. */
const readAhead = 32;

const checkpointEnding = 'checkpoint.parquet';
const changed = 'its bytes have changed';

interface LogFile {
  readonly path: string;
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

export interface LogSegment {
  /** The checkpoint, which has the state at its version; undefined where none was used. */
  readonly checkpoint: { readonly version: number; readonly actions: readonly Action[] } | undefined;
  /** The actions of each version behind it, in order. */
  readonly commits: readonly (readonly Action[])[];
  /** Newer checkpoints that were skipped. */
  readonly skipped: readonly SkippedCheckpoint[];
}

interface ReadCommit {
  readonly version: number;
  /** Undefined where the commit is missing or can't be read. */
  readonly actions: readonly Action[] | undefined;
  /** Why it can't be read, without advice. */
  readonly fault: string | undefined;
}

/** A checkpoint that isn't used. */
export interface SkippedCheckpoint {
  readonly version: number;
  /** Within the lake. */
  readonly path: string;
  /** What is wrong with it, in words; undefined where it only has no checksum. */
  readonly fault: string | undefined;
}

/** The actions of a verified checkpoint, or why it isn't used. */
type Checkpoint = { readonly actions: readonly Action[] } | SkippedCheckpoint | undefined;

/** The files of one table's Delta log. */
export class DeltaLog {
  readonly #store: Store;
  readonly #table: string;
  readonly #folder: string;

  constructor(store: Store, table: string) {
    this.#store = store;
    this.#table = table;
    this.#folder = `${table}/_delta_log`;
  }

  /** `LAKE/TABLE/_delta_log`, for messages. */
  get location(): string {
    return `${this.#store.location}/${this.#folder}`;
  }

  commitPath(version: number): string {
    return `${this.#folder}/${padded(version)}.json`;
  }

  checkpointPath(version: number): string {
    return `${this.#folder}/${padded(version)}.checkpoint.parquet`;
  }

  /**
   * Reads the log from its newest checkpoint on.
   *
   * @throws LedgerlakeError LAKE_LOG where a file is damaged or missing
   */
  async open(): Promise<LogSegment> {
    for (;;) {
      const hint = await this.newestCheckpoint();
      try {
        return await this.#open(hint);
      } catch (error) {
        // A log that was cleaned up during the read now begins at another checkpoint.
        if (codeOf(error) !== 'LAKE_LOG' || (await this.newestCheckpoint()) === hint) throw error;
      }
    }
  }

  async #open(hint: number | undefined): Promise<LogSegment> {
    const skipped: SkippedCheckpoint[] = [];
    const hinted = hint === undefined ? undefined : await this.#from(hint, skipped);
    if (hinted !== undefined) return hinted;
    try {
      // Without a usable hint the folder is listed.
      for (const version of (await this.checkpoints()).toReversed()) {
        const segment = version === hint ? undefined : await this.#from(version, skipped);
        if (segment !== undefined) return segment;
      }
      return { checkpoint: undefined, commits: await this.#commitsAfter(-1, newestOf(skipped)), skipped };
    } catch (error) {
      // A checkpoint without a checksum is used only where commits are missing.
      const faulty = skipped.filter(({ fault }) => fault !== undefined);
      for (const checkpoint of skipped.filter(({ fault }) => fault === undefined)) {
        const { version } = checkpoint;
        const actions = await this.uncheckedCheckpoint(version);
        if (actions === undefined) faulty.push({ ...checkpoint, fault: 'it is no checkpoint of a table' });
        else return { checkpoint: { version, actions }, commits: await this.#commitsAfter(version), skipped: [] };
      }
      throw withFaults(error, this.#store.location, faulty);
    }
  }

  /** The actions of one version; undefined where it isn't committed yet. */
  async commit(version: number): Promise<readonly Action[] | undefined> {
    const path = this.commitPath(version);
    const bytes = await this.#store.read(path);
    const id = { table: this.#table, version };
    return bytes === undefined ? undefined : decodeActions(bytes, `${this.#store.location}/${path}`, id);
  }

  /** Reads commits in order, several concurrently. */
  async *readCommits(versions: readonly number[]): AsyncGenerator<ReadCommit> {
    for (let from = 0; from < versions.length; from += readAhead) {
      yield* await Promise.all(versions.slice(from, from + readAhead).map((version) => this.#readCommit(version)));
    }
  }

  async #readCommit(version: number): Promise<ReadCommit> {
    try {
      return { version, actions: await this.commit(version), fault: undefined };
    } catch (error) {
      return { version, actions: undefined, fault: logFault(error) };
    }
  }

  /** The actions of the versions down from `upTo`, as far back as the log goes. */
  async *#backwards(upTo: number): AsyncGenerator<readonly Action[]> {
    for (let version = upTo; version >= 0; version--) {
      const actions = await this.commit(version);
      if (actions === undefined) return;
      yield actions;
    }
  }

  /** The newest removal of each path up to a version. Reads backwards until all are found, or the log begins. */
  async removals(upTo: number, paths: ReadonlySet<string>): Promise<readonly Remove[]> {
    const found = new Map<string, Remove>();
    for await (const actions of this.#backwards(paths.size === 0 ? -1 : upTo)) {
      for (const action of actions) {
        if (!('remove' in action)) continue;
        const { path } = action.remove;
        if (paths.has(path) && !found.has(path)) found.set(path, action.remove);
      }
      if (found.size === paths.size) break;
    }
    return [...found.values()];
  }

  /** Those of the paths that a commit up to a version adds and no later one removes, as far back as the log goes. */
  async added(upTo: number, paths: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const left = new Set(paths);
    const added = new Set<string>();
    for await (const actions of this.#backwards(left.size === 0 ? -1 : upTo)) {
      for (const action of actions.toReversed()) {
        if ('add' in action && left.delete(action.add.path)) added.add(action.add.path);
        else if ('remove' in action) left.delete(action.remove.path);
      }
      if (left.size === 0) break;
    }
    return added;
  }

  /** Writes a checkpoint and the hint to it; readers without either still have every commit. */
  async writeCheckpoint(
    version: number,
    bytes: Uint8Array,
    { actions, files }: { readonly actions: number; readonly files: number },
  ): Promise<void> {
    const checked = withChecksum(bytes, this.#checkpointName(version));
    await this.#store.write(this.checkpointPath(version), checked);
    const hint = { numOfAddFiles: files, size: actions, sizeInBytes: checked.length, version };
    await this.#store.write(this.hintPath, Buffer.from(JSON.stringify({ ...hint, checksum: hintChecksum(hint) })));
  }

  /** What is wrong with the hint `_last_checkpoint`; undefined where it is valid or missing. */
  async hintFault(): Promise<SkippedCheckpoint | undefined> {
    const bytes = await this.#store.read(this.hintPath);
    if (bytes === undefined) return undefined;
    const hint = readHint(bytes);
    const faulty = (fault: string) => ({ version: hint?.version ?? -1, path: this.hintPath, fault });
    if (hint === undefined) return faulty('it has no version');
    const { checksum, ...others } = hint.fields;
    if (typeof checksum === 'string' && isNumeric(others) && checksum !== hintChecksum(others)) return faulty(changed);
    const exists = (await this.#store.readRange(this.checkpointPath(hint.version), 0, 1)) !== undefined;
    return exists ? undefined : faulty('it names a checkpoint that is not there');
  }

  /**
   * Whether a log cleanup has removed a version that was once the newest; for -1, whether a log that didn't exist now
   * begins behind its first version.
   */
  async isCleanedUp(version: number): Promise<boolean> {
    if (version < 0) return (await this.newestCheckpoint()) !== undefined;
    return (await this.#store.readRange(this.commitPath(version), 0, 1)) === undefined;
  }

  /**
   * Removes every file of older versions, so that the log begins at this version's checkpoint (protocol, "Metadata
   * Cleanup"). The oldest is removed first: a reader at a version finds it missing before the next one is.
   *
   * @throws LedgerlakeError LAKE_LOG where that checkpoint can't be read; then nothing was removed
   */
  async cleanUp(version: number): Promise<void> {
    if (!isReadable(await this.checkpoint(version))) {
      throw new LedgerlakeError(
        'LAKE_LOG',
        `expected a checkpoint of version ${version} in ${this.location}, got one that can't be read; older versions stay, run the same command again`,
      );
    }
    const older = (await this.#files()).filter((file) => file.version < version);
    for (const { path } of older) await this.#store.remove(path);
  }

  /**
   * Removes the checkpoints that were superseded before an instant (milliseconds since 1970): readers that have opened the log
   * since began at a newer one. The newest checkpoint and that of `_last_checkpoint` stay. Without a readable checkpoint in
   * `_last_checkpoint` all stay, because a cleaned-up log consists of that checkpoint and the commits behind it.
   */
  async dropCheckpoints(supersededBefore: number): Promise<void> {
    const checkpoints = await this.#files(checkpointEnding);
    const old = checkpoints.filter((_, at) => (checkpoints[at + 1]?.modifiedAt ?? Infinity) < supersededBefore);
    const hint = old.length === 0 ? undefined : await this.newestCheckpoint();
    const superseded = old.filter(({ version }) => hint !== undefined && version < hint);
    if (hint === undefined || superseded.length === 0 || !isReadable(await this.checkpoint(hint))) return;
    for (const { path } of superseded) await this.#store.remove(path);
  }

  /** The versions with a checkpoint, the oldest first. */
  async checkpoints(): Promise<number[]> {
    return (await this.#files(checkpointEnding)).map(({ version }) => version);
  }

  /** The versions with a commit file, the oldest first. */
  async commits(): Promise<number[]> {
    return (await this.#files('json')).map(({ version }) => version);
  }

  /** Every file in the log's folder, as a path within the lake. */
  async paths(): Promise<string[]> {
    const paths: string[] = [];
    for await (const { path } of this.#store.list(this.#folder)) paths.push(path);
    return paths;
  }

  /** The log's files of a version, the oldest first: all, or those with an ending. Subfolders, which may be copies, are ignored. */
  async #files(ending?: string, after?: string): Promise<LogFile[]> {
    const files: LogFile[] = [];
    for await (const { path, modifiedAt } of this.#store.list(this.#folder, after)) {
      const [, version, found] = /\/(\d{20})\.([^/]*)$/.exec(path) ?? [];
      const isWithin = path.lastIndexOf('/') === this.#folder.length;
      if (isWithin && version !== undefined && (ending ?? found) === found)
        files.push({ path, version: Number(version), modifiedAt });
    }
    return files;
  }

  get hintPath(): string {
    return `${this.#folder}/_last_checkpoint`;
  }

  /** The name in a checkpoint's checksum. */
  #checkpointName(version: number): string {
    return `${this.#table}/${version}`;
  }

  /** The version in `_last_checkpoint`; undefined where it can't be read, and a listing replaces it. */
  async newestCheckpoint(): Promise<number | undefined> {
    return readHint(await this.#store.read(this.hintPath))?.version;
  }

  async #from(version: number, skipped: SkippedCheckpoint[]): Promise<LogSegment | undefined> {
    const found = await this.checkpoint(version);
    if (isReadable(found)) {
      const commits = await this.#commitsAfter(version, newestOf(skipped));
      return { checkpoint: { version, actions: found.actions }, commits, skipped };
    }
    if (found !== undefined) skipped.push(found);
    return undefined;
  }

  /** The actions of a checkpoint without a checksum; undefined where it can't be read. */
  async uncheckedCheckpoint(version: number): Promise<readonly Action[] | undefined> {
    const path = this.checkpointPath(version);
    const bytes = await this.#store.read(path);
    try {
      return bytes && (await decodeUnchecked(bytes, `${this.#store.location}/${path}`));
    } catch {
      return undefined;
    }
  }

  /** The checkpoint of a version; undefined where there is none. */
  async checkpoint(version: number): Promise<Checkpoint> {
    const path = this.checkpointPath(version);
    const bytes = await this.#store.read(path);
    if (bytes === undefined) return undefined;
    const checksum = checksumOf(bytes, this.#checkpointName(version));
    if (checksum !== 'valid') return { version, path, fault: checksum === 'invalid' ? changed : undefined };
    try {
      return { actions: await decodeCheckpoint(bytes, `${this.#store.location}/${path}`) };
    } catch (error) {
      return { version, path, fault: logFault(error).slice(0, 200) };
    }
  }

  /** The checkpoints whose bytes have changed, by their checksums. */
  async changedCheckpoints(): Promise<readonly SkippedCheckpoint[]> {
    const faulty: SkippedCheckpoint[] = [];
    for (const { path, version } of await this.#files(checkpointEnding)) {
      const bytes = await this.#store.read(path);
      const isChanged = bytes !== undefined && checksumOf(bytes, this.#checkpointName(version)) === 'invalid';
      if (isChanged) faulty.push({ version, path, fault: changed });
    }
    return faulty;
  }

  /**
   * Lists the commits behind a version and reads them, several concurrently.
   *
   * @param upTo minimum of the newest version
   */
  async #commitsAfter(version: number, upTo = version): Promise<(readonly Action[])[]> {
    const listed = await this.#files('json', version < 0 ? undefined : this.commitPath(version));
    const newest = Math.max(version, upTo, listed.at(-1)?.version ?? -1);
    const commits: (readonly Action[])[] = [];
    for (let next = version + 1; next <= newest; next += readAhead) {
      // Reads every version up to the newest, listed or not: a listing during writes may lack an earlier file.
      const wanted = Array.from({ length: Math.min(readAhead, newest + 1 - next) }, (_, at) => next + at);
      const read = await Promise.all(wanted.map((each) => this.commit(each)));
      for (const [at, actions] of read.entries()) {
        if (actions === undefined) throw logError(`expected version ${next + at} in ${this.location}, got none`);
        commits.push(actions);
      }
    }
    return commits;
  }
}

export function isReadable(checkpoint: Checkpoint): checkpoint is { readonly actions: readonly Action[] } {
  return checkpoint !== undefined && 'actions' in checkpoint;
}

/** The error for missing commits; `newest` is -1 where there is no commit. */
export function commitsMissing(location: string, expected: number, newest: number): LedgerlakeError {
  const found = newest < 0 ? 'got no log' : `got ${newest} as the newest`;
  return new LedgerlakeError(
    'LAKE_LOG',
    `expected version ${expected} of ${location}, ${found}; commits are missing, restore them from a copy or run ` +
      '`ledgerlake rebuild --log`',
  );
}

/** The error for a damaged checkpoint without whose commits the log can't be read. */
function withFaults(error: unknown, location: string, [damaged]: readonly SkippedCheckpoint[]): unknown {
  if (damaged === undefined || codeOf(error) !== 'LAKE_LOG') return error;
  return logError(
    `expected the checkpoint ${location}/${damaged.path} as it was written, ${damaged.fault ?? ''}, and its commits ` +
      `can't replace it (${logFault(error)})`,
  );
}

function newestOf(skipped: readonly SkippedCheckpoint[]): number {
  return Math.max(-1, ...skipped.map(({ version }) => version));
}

function readHint(bytes: Uint8Array | undefined): { readonly version: number; readonly fields: Fields } | undefined {
  return parseNote(bytes, (fields) => {
    const version = isObject(fields) ? fields['version'] : undefined;
    if (!isObject(fields) || typeof version !== 'number') return undefined;
    return Number.isSafeInteger(version) && version >= 0 ? { version, fields } : undefined;
  });
}

function isNumeric(fields: Fields): fields is Readonly<Record<string, number>> {
  return Object.values(fields).every((value) => typeof value === 'number');
}

/** The checksum of a `_last_checkpoint` of numbers (Delta protocol, "JSON checksum"). */
function hintChecksum(hint: Readonly<Record<string, number>>): string {
  const pairs = Object.entries(hint).map(([key, value]) => `"${encodeURIComponent(key)}"=${value}`);
  return createHash('md5').update(pairs.toSorted(compareBytes).join(',')).digest('hex');
}

function padded(version: number): string {
  return String(version).padStart(20, '0');
}
