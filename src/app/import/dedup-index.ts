import { LedgerlakeError } from '../../core/errors.js';
import type { Add } from '../../lake/delta/actions.js';
import { checkedSource } from '../../lake/files/checked-file.js';
import type { Family } from '../../core/columns/table.js';
import { subWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { storedDays, type ImportTarget } from './imported-day-files.js';
import { copyId, DistinctIds, IdLog, idWords, storedIds, type IdList } from './stored-ids.js';

/** The events of a chunk of an input, in order of receipt. */
export interface ChunkEvents {
  /** Their ids without the numbers of equal events, as `idWords` an event. */
  readonly words: Int32Array;
  /** The start of each one's day. */
  readonly days: Float64Array;
  /** Whether an event has a date: whether the lake holds one that has none shows once its input is read to the end. */
  readonly isDated: (row: number) => boolean;
  /** Whether events of a day may be added. */
  readonly isOpen: (day: number) => boolean;
}

/** Which events of a chunk are new to the lake. */
export interface DedupedEvents {
  /**
   * The number of each one among equal events of the input, from 1; 0 where the lake holds it, or its day isn't open. One without a
   * date never counts as held.
   */
  readonly times: Int32Array<ArrayBuffer>;
  /** Its position in its day, behind those that the lake holds. */
  readonly positions: Int32Array<ArrayBuffer>;
  /** Notes that these are to be committed, as one file. */
  readonly stage: (rows: readonly number[]) => Promise<FileIds>;
}

/** The ids of the events of one file of the lake, of one that is to be committed, or of duplicates that an input has. */
export interface FileIds {
  /** How many there had been before. */
  readonly order: number;
  /** Number of the input that they are of; undefined for a file that was in the lake. */
  readonly input: number | undefined;
  /** Whether the lake holds them, or will unless the import ends before. */
  isInLake: boolean;
  readonly lists: IdList[];
  /** Start of the first of their days, and of the last one. */
  first: number;
  last: number;
  /** Of their file, within its table, as soon as it is about to be committed. */
  path: string | undefined;
  isCommitted: boolean;
}

/**
 * The events that the lake holds of an account's days, and those that this run adds, by their ids: so duplicates are found
 * before a row is written. Equal events of a day are counted: afterwards there are as many of them as the input has that has the
 * most. Files are read once, as soon as a day of theirs is asked for.
 *
 * What another run commits meanwhile shows when the rows are about to be committed (`isCurrent`).
 */
export class DedupIndex {
  readonly #target: ImportTarget;
  readonly #family: Family;
  readonly #workspace: Workspace;
  readonly #log: IdLog;
  readonly #known = new Set<FileIds>();
  readonly #byPath = new Map<string, FileIds>();
  #order = 0;
  /** Number of the present input. */
  #input = 0;
  /** The last position in use by the start of the day. */
  readonly #positions = new Map<number, number>();
  /** The same before the present input, of the days that it adds to; -1: none was. */
  readonly #before = new Map<number, number>();

  constructor(target: ImportTarget, family: Family, workspace: Workspace) {
    this.#target = target;
    this.#family = family;
    this.#workspace = workspace;
    this.#log = new IdLog(workspace.newPath());
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  /** Begins the next input: equal events are counted from 1 again. */
  nextInput(): void {
    this.#removeIf(({ isInLake }) => !isInLake);
    this.#input++;
    this.#before.clear();
  }

  /** Drops what the present input was to add. */
  abandonInput(): void {
    this.#removeIf(({ input }) => input === this.#input);
    for (const [day, position] of this.#before) this.#positions.set(day, position);
  }

  async deduplicate({ words, days, isDated, isOpen }: ChunkEvents): Promise<DedupedEvents> {
    const open = new Set([...new Set(days)].filter(isOpen));
    await this.#readFilesOf([...open]);
    const distinct = new DistinctIds(words);
    const { stored, seen } = await this.#counted(distinct, Math.min(...open), Math.max(...open));
    const times = new Int32Array(days.length);
    const positions = new Int32Array(days.length);
    const known: number[] = [];
    for (let row = 0; row < days.length; row++) {
      const day = days[row] ?? 0;
      if (!open.has(day)) continue;
      const id = distinct.numbers[row] ?? 0;
      const nth = (seen[id] ?? 0) + 1;
      seen[id] = nth;
      if (nth <= (stored[id] ?? 0) && isDated(row)) {
        known.push(row);
        continue;
      }
      stored[id] = times[row] = nth;
      const last = this.#positions.get(day) ?? -1;
      if (!this.#before.has(day)) this.#before.set(day, last);
      this.#positions.set(day, (positions[row] = last + 1));
    }
    const note = (rows: readonly number[], isInLake: boolean) => this.#note(words, days, rows, isInLake);
    if (known.length > 0) await note(known, false);
    return { times, positions, stage: (rows) => note(rows, true) };
  }

  /** Whether files hold nothing that wasn't known when the events of a chunk were deduplicated. */
  isCurrent(fileIds: FileIds, files: readonly Add[]): boolean {
    const isBefore = ({ path }: Add) => (this.#byPath.get(path)?.order ?? Infinity) < fileIds.order;
    return fileIds.isInLake && this.#known.has(fileIds) && files.every(isBefore);
  }

  /** Sets the path of the file with these events that is about to be committed. */
  setPath(fileIds: FileIds, path: string): void {
    fileIds.path = path;
    this.#byPath.set(path, fileIds);
  }

  /** Reads the files of the lake that hold imported rows of these days and haven't been read. */
  async #readFilesOf(days: readonly number[]): Promise<void> {
    const { files } = this.#target.lake.table(this.#family.main.name).snapshot;
    // Merged, replaced or deleted by another run: what has its rows now is read like any other.
    this.#removeIf(({ isCommitted, path = '' }) => isCommitted && !files.has(path));
    for (const add of storedDays(this.#target, this.#family, days).files) {
      if (!this.#byPath.has(add.path)) await this.#readFile(add);
    }
  }

  async #readFile(add: Add): Promise<void> {
    const { lake } = this.#target;
    const fileIds = this.#newFileIds(true, undefined);
    const copies = subWorkspace(this.#workspace);
    try {
      const file = await checkedSource(lake.store, lake.table(this.#family.main.name), add, copies);
      for await (const { words, days, positions } of storedIds(file)) {
        for (const [row, day] of days.entries()) {
          reach(fileIds, day);
          for (const last of [this.#positions, this.#before]) {
            if ((positions[row] ?? 0) > (last.get(day) ?? -1)) last.set(day, positions[row] ?? 0);
          }
        }
        fileIds.lists.push(await this.#log.add(words));
      }
    } catch (error) {
      if (!(error instanceof LedgerlakeError)) throw error;
      // Another run may have merged it. Who commits meets a file that isn't known, looks again, and fails if that must be.
      return;
    } finally {
      await copies.clear();
    }
    for (const other of this.#between(fileIds.first, fileIds.last)) {
      // Its events and these may be the same: that shows when it is committed.
      if (other.isInLake && !other.isCommitted) this.#invalidate(other);
    }
    this.#known.add(fileIds);
    this.setPath(fileIds, add.path);
    fileIds.isCommitted = true;
  }

  /** How often the lake holds each id by now, and how often the input has had it, of what is between two days. */
  async #counted(
    distinct: DistinctIds,
    first: number,
    last: number,
  ): Promise<{ readonly stored: Int32Array; readonly seen: Int32Array }> {
    const stored = new Int32Array(distinct.length);
    const seen = new Int32Array(distinct.length);
    for (const fileIds of this.#between(first, last)) {
      for (const list of fileIds.lists) {
        const words = await this.#log.read(list);
        if (fileIds.isInLake) distinct.count(words, stored);
        if (fileIds.input === this.#input) distinct.count(words, seen);
      }
    }
    return { stored, seen };
  }

  async #note(words: Int32Array, days: Float64Array, rows: readonly number[], isInLake: boolean): Promise<FileIds> {
    const fileIds = this.#newFileIds(isInLake, this.#input);
    const noted = new Int32Array(rows.length * idWords);
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at] ?? 0;
      copyId(words, row, noted, at);
      reach(fileIds, days[row] ?? 0);
    }
    fileIds.lists.push(await this.#log.add(noted));
    this.#known.add(fileIds);
    return fileIds;
  }

  /** Ids that don't count until they are added to `#known`. */
  #newFileIds(isInLake: boolean, input: number | undefined): FileIds {
    const none = { lists: [], first: Infinity, last: -Infinity, path: undefined, isCommitted: false };
    return { order: this.#order++, input, isInLake, ...none };
  }

  /** Those that have events between two days, by their starts. */
  *#between(first: number, last: number): Generator<FileIds> {
    for (const fileIds of this.#known) if (fileIds.last >= first && fileIds.first <= last) yield fileIds;
  }

  /** If events of these are in the lake all the same, their file is one that isn't known, and is read. */
  #removeIf(isOver: (fileIds: FileIds) => boolean): void {
    for (const fileIds of this.#known) {
      if (!isOver(fileIds)) continue;
      this.#known.delete(fileIds);
      if (fileIds.path !== undefined) this.#byPath.delete(fileIds.path);
    }
  }

  /** No longer counts them as held by the lake; what the present input has of them stays. */
  #invalidate(fileIds: FileIds): void {
    if (fileIds.path !== undefined) this.#byPath.delete(fileIds.path);
    if (fileIds.input === this.#input) fileIds.isInLake = false;
    else this.#known.delete(fileIds);
  }
}

function reach(fileIds: FileIds, day: number): void {
  fileIds.first = Math.min(fileIds.first, day);
  fileIds.last = Math.max(fileIds.last, day);
}
