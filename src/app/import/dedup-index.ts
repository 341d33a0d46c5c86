import { LedgerlakeError, systemCode } from '../../core/errors.js';
import type { Add } from '../../lake/delta/actions.js';
import { checkedSource, damagedFile } from '../../lake/files/checked-file.js';
import type { Family } from '../../core/columns/table.js';
import { subWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { storedDays, type ImportTarget } from './imported-day-files.js';
import { copyId, DistinctIds, IdLog, idWords, storedIds, type IdList } from './stored-ids.js';

/** The events of a chunk of an input, in order of receipt. */
interface ChunkEvents {
  /** Their ids without the numbers of equal events: `idWords` words for each event. */
  readonly words: Int32Array;
  /** The start of each event's day. */
  readonly days: Float64Array;
  /** Whether an event has a date. Events without one are compared once their input is read to its end. */
  readonly isDated: (row: number) => boolean;
  /** Whether events of a day may be added. */
  readonly isOpen: (day: number) => boolean;
}

/** Which events of a chunk are new to the lake. */
interface DedupedEvents {
  /**
   * The number of each event among equal ones of the input, from 1; 0 where the lake has it, or its day isn't open. An event
   * without a date never counts as stored.
   */
  readonly times: Int32Array<ArrayBuffer>;
  /** The position of each event in its day, after the stored ones. */
  readonly positions: Int32Array<ArrayBuffer>;
  /** Notes rows that are to be committed as one file. */
  readonly stage: (rows: readonly number[]) => Promise<FileIds>;
}

/** The ids of a stored file's events, of a file that is to be committed, or of an input's duplicates. */
export interface FileIds {
  /** The number of such lists before. */
  readonly order: number;
  /** Number of their input; undefined for a file that was in the lake. */
  readonly input: number | undefined;
  /** Whether the lake has them, or will have unless the import ends before. */
  isInLake: boolean;
  readonly lists: IdList[];
  /** Start of their first day, and of the last one. */
  first: number;
  last: number;
  /** Path of their file within its table, once it is about to be committed. */
  path: string | undefined;
  isCommitted: boolean;
}

/**
 * The ids of an account's stored events and of those that this run adds, so that duplicates are found before rows are written.
 * Equal events of a day are counted: the lake has as many of them afterwards as the input with the most. A file is read once, when
 * one of its days is first needed.
 *
 * Commits of other runs are detected just before a commit (`isCurrent`).
 */
export class DedupIndex {
  readonly #target: ImportTarget;
  readonly #family: Family;
  readonly #workspace: Workspace;
  readonly #log: IdLog;
  readonly #known = new Set<FileIds>();
  readonly #byPath = new Map<string, FileIds>();
  #order = 0;
  /** Number of the current input. */
  #input = 0;
  /** The last position in use by the start of the day. */
  readonly #positions = new Map<number, number>();
  /** The last position before the current input, for the days that it adds to; -1: none. */
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

  /** Starts the next input: equal events are counted from 1. */
  nextInput(): void {
    this.#removeIf(({ isInLake }) => !isInLake);
    this.#input++;
    this.#before.clear();
  }

  /** Removes the ids of the current input. */
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

  /** Whether all events of stored files were known when the events of a chunk were deduplicated. */
  isCurrent(fileIds: FileIds, files: readonly Add[]): boolean {
    const isBefore = ({ path }: Add) => (this.#byPath.get(path)?.order ?? Infinity) < fileIds.order;
    return fileIds.isInLake && this.#known.has(fileIds) && files.every(isBefore);
  }

  /** Sets the path of the file with these events, which is about to be committed. */
  setPath(fileIds: FileIds, path: string): void {
    fileIds.path = path;
    this.#byPath.set(path, fileIds);
  }

  /** Reads the stored files with imported rows of these days that haven't been read. */
  async #readFilesOf(days: readonly number[]): Promise<void> {
    const { snapshot } = this.#target.lake.table(this.#family.main.name);
    // Another run has merged, replaced or deleted the file; the file that has its rows now is read as any other.
    this.#removeIf(({ isCommitted, path = '' }) => isCommitted && snapshot.file(path) === undefined);
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
          extendDays(fileIds, day);
          for (const last of [this.#positions, this.#before]) {
            if ((positions[row] ?? 0) > (last.get(day) ?? -1)) last.set(day, positions[row] ?? 0);
          }
        }
        fileIds.lists.push(await this.#log.add(words));
      }
    } catch (error) {
      if (!(error instanceof LedgerlakeError)) {
        if (!(error instanceof Error) || systemCode(error) !== undefined) throw error;
        const fault = `it can't be read as a file of events (${error.message})`;
        throw damagedFile(lake.store, lake.table(this.#family.main.name), add, fault);
      }
      // Another run may have merged it. The commit then finds an unknown file and compares again, and fails if it is damaged.
      return;
    } finally {
      await copies.clear();
    }
    for (const other of this.#between(fileIds.first, fileIds.last)) {
      // Some of its events may be in this file: they are compared at the commit.
      if (other.isInLake && !other.isCommitted) this.#invalidate(other);
    }
    this.#known.add(fileIds);
    this.setPath(fileIds, add.path);
    fileIds.isCommitted = true;
  }

  /** How often the lake has each id, and how often the input has had it, in the days between two. */
  async #counted(distinct: DistinctIds, first: number, last: number) {
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
      extendDays(fileIds, days[row] ?? 0);
    }
    fileIds.lists.push(await this.#log.add(noted));
    this.#known.add(fileIds);
    return fileIds;
  }

  /** Empty ids, which count once they are added to `#known`. */
  #newFileIds(isInLake: boolean, input: number | undefined): FileIds {
    const none = { lists: [], first: Infinity, last: -Infinity, path: undefined, isCommitted: false };
    return { order: this.#order++, input, isInLake, ...none };
  }

  /** The ids with events between two days, by the days' starts. */
  *#between(first: number, last: number): Generator<FileIds> {
    for (const fileIds of this.#known) if (fileIds.last >= first && fileIds.first <= last) yield fileIds;
  }

  /** Removes ids. If their events are in the lake nevertheless, their file is unknown, and is read. */
  #removeIf(isRemoved: (fileIds: FileIds) => boolean): void {
    for (const fileIds of this.#known) {
      if (!isRemoved(fileIds)) continue;
      this.#known.delete(fileIds);
      if (fileIds.path !== undefined) this.#byPath.delete(fileIds.path);
    }
  }

  /** Stops counting ids as stored; those of the current input still count for it. */
  #invalidate(fileIds: FileIds): void {
    if (fileIds.path !== undefined) this.#byPath.delete(fileIds.path);
    if (fileIds.input === this.#input) fileIds.isInLake = false;
    else this.#known.delete(fileIds);
  }
}

function extendDays(fileIds: FileIds, day: number): void {
  fileIds.first = Math.min(fileIds.first, day);
  fileIds.last = Math.max(fileIds.last, day);
}
