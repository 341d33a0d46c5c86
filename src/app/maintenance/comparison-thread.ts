import { Worker } from 'node:worker_threads';
import type { Table } from '../../core/columns/table.js';
import type { ParquetSource } from '../../core/parquet/wasm.js';
import { resourceLimits } from '../../core/parquet/thread.js';
import { unchangedEntries, type RowCounts } from './rederived-entries.js';

/** What the thread is asked: whether the stored files hold the entries of a file of events. */
export interface Question {
  readonly table: string;
  readonly file: ParquetSource;
  readonly stored: readonly ParquetSource[];
}

/** Undefined where they don't, or nobody can say. */
export type Answer = RowCounts | undefined;

const ownScript = new URL('./comparison-thread-main.js', import.meta.url);

/**
 * A thread that finds out which files of entries are what they should be, while its owner does the same with others. It
 * starts with its first question.
 */
export class ComparisonThread {
  readonly #script: URL;
  #worker: Worker | undefined;
  #answer: ((answer: Answer) => void) | undefined;
  #isOpen = true;

  constructor(script: URL = ownScript) {
    this.#script = script;
  }

  /** Whether it answers questions still. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether it can be asked: it has one question at a time. */
  get isFree(): boolean {
    return this.#isOpen && this.#answer === undefined;
  }

  /** As `unchangedEntries` has it. Undefined as well where the thread dies: then it is for others to find out. */
  ask(table: Table, file: ParquetSource, stored: readonly ParquetSource[]): Promise<Answer> {
    const worker = (this.#worker ??= this.#start());
    return new Promise((resolve) => {
      this.#answer = resolve;
      worker.postMessage({ table: table.name, file, stored } satisfies Question);
    });
  }

  /** Ends it; the question that it has isn't answered any more. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.#answered(undefined);
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(this.#script, { resourceLimits });
    worker.on('message', (answer: Answer) => {
      this.#answered(answer);
    });
    worker.on('error', () => {
      this.#answered(undefined);
    });
    worker.on('exit', () => {
      this.#answered(undefined);
      this.#worker = undefined;
    });
    return worker;
  }

  #answered(answer: Answer): void {
    const resolve = this.#answer;
    this.#answer = undefined;
    resolve?.(answer);
  }
}

/** Asks the thread, or finds out here where there is none that is free. Throws as `unchangedEntries` does. */
export async function compareSomewhere(
  thread: ComparisonThread | undefined,
  table: Table,
  file: ParquetSource,
  stored: readonly ParquetSource[],
  signal: AbortSignal,
): Promise<Answer> {
  if (thread?.isFree !== true) return unchangedEntries(table, file, stored, signal);
  const answer = await thread.ask(table, file, stored);
  signal.throwIfAborted();
  return answer;
}
