import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';

/** The resources of the container, or of the machine without one. */
interface Machine {
  /** Cores that threads can use at once, at least 1. */
  readonly cores: number;
  readonly memoryBytes: number;
}

/**
 * Reads the limits of the process's control group, version 1 and 2, and of those around it; Node counts the machine's cores.
 *
 * @param root the folder of `proc` and `sys`
 */
export function readMachine(
  root = '/',
  all: Machine = { cores: availableParallelism(), memoryBytes: totalmem() },
): Machine {
  const groups = groupFolders(root);
  const quotas = groups.flatMap((folder) => [quotaOf(folder), oldQuotaOf(folder)]);
  const memory = groups.flatMap((folder) => [
    numberIn(folder, 'memory.max'),
    numberIn(folder, 'memory.limit_in_bytes'),
  ]);
  return {
    cores: Math.min(all.cores, ...quotas.filter(isLimit).map((quota) => Math.max(1, Math.ceil(quota)))),
    memoryBytes: Math.min(all.memoryBytes, ...memory.filter(isLimit)),
  };
}

/** The folders of the process's group in each hierarchy, and those around it; in a container the path may be the machine's. */
function groupFolders(root: string): readonly string[] {
  const folders = new Set<string>();
  for (const line of (read(join(root, 'proc/self/cgroup')) ?? '').split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    const names =
      controllers === ''
        ? ['', 'unified']
        : /^(?:.*,)?(?:cpu|memory)(?:,.*)?$/.test(controllers)
          ? [controllers, ...controllers.split(',')]
          : [];
    const steps = path.split('/').filter((step) => step !== '' && step !== '..');
    for (const name of names) {
      for (let depth = 0; depth <= steps.length; depth++) {
        folders.add(join(root, 'sys/fs/cgroup', name, ...steps.slice(0, depth)));
      }
    }
  }
  return [...folders];
}

/** Cores of a `cpu.max`: microseconds of each period, and the period. */
function quotaOf(folder: string): number | undefined {
  const [quota, period] = (read(join(folder, 'cpu.max')) ?? '').trim().split(' ').map(Number);
  return quota === undefined || period === undefined ? undefined : quota / period;
}

function oldQuotaOf(folder: string): number | undefined {
  const [quota, period] = [numberIn(folder, 'cpu.cfs_quota_us'), numberIn(folder, 'cpu.cfs_period_us')];
  return quota === undefined || period === undefined ? undefined : quota / period;
}

function numberIn(folder: string, file: string): number | undefined {
  const text = read(join(folder, file))?.trim();
  return text === undefined || text === '' ? undefined : Number(text);
}

/** `max`, -1 and what isn't a number set no limit. */
function isLimit(value: number | undefined): value is number {
  return value !== undefined && value > 0 && Number.isFinite(value);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Another system, another version, or a group that the container doesn't see.
    return undefined;
  }
}

const megabyte = 1_000_000;
/** Memory for the process beside DuckDB and threads, and for each thread (its heap is limited to 200 MB). */
const processBytes = 256 * megabyte;
const threadBytes = 128 * megabyte;

/** The number of threads for large inputs: as many as cores, where the memory is enough for them. */
export function threadsOf({ cores, memoryBytes }: Machine): number {
  return Math.max(1, Math.min(cores, Math.floor((memoryBytes - processBytes) / threadBytes)));
}

/**
 * DuckDB's setting `memory_limit`: `most`, such as `1GB`, or a quarter of the memory where that is less, as several DuckDBs are
 * open at once. DuckDB spills the rest to the disk.
 */
export function duckdbMemory(most: string, { memoryBytes }: Machine): string {
  const [, number = '', unit] = /^(\d+)(MB|GB)$/.exec(most) ?? [];
  const megabytes = Number(number) * (unit === 'GB' ? 1000 : 1);
  return `${Math.max(64, Math.min(megabytes, Math.floor(memoryBytes / 4 / megabyte)))}MB`;
}
