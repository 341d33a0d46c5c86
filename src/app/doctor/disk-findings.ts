import { stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { groupBy } from '../../core/group-by.js';
import { userCache } from '../../core/io/home-folder.js';
import { checkedPath } from '../../core/io/links.js';
import { formatBytes } from '../../core/text/amounts.js';
import { isRemote, lakeFolder } from '../../lake/store/open-store.js';
import { cacheOf, type Settings } from '../configuration/settings.js';
import { isStateTemporary, stateFolder } from '../load/state-folder.js';
import { warnings, type AddFinding } from './findings.js';
import { existingFolder, tryFolder } from './store-findings.js';

/** Free bytes below which a run probably fails, and below which space is short. */
const short = { fault: 100e6, warning: 1e9 };

/**
 * Examines the folders that runs write to: whether they can be written, and the free space of their disks.
 *
 * @throws LedgerlakeError LAKE_STORE where a folder can't be written, or is a link
 */
export async function examineDisk(settings: Settings, accounts: readonly string[], add: AddFinding): Promise<void> {
  const local = lakeFolder(settings.lake);
  const folders = [
    ...(local === undefined ? [] : [{ use: 'lake', folder: local }]),
    ...accounts.map((account) => ({ use: 'state', folder: checkedPath(stateFolder(settings, account)) })),
    ...(isRemote(settings.lake) ? [{ use: 'cache', folder: resolve(cacheOf(settings).folder) }] : []),
    { use: 'temporary files', folder: tmpdir() },
  ];
  if (isStateTemporary(settings)) warnings(add)({ event: 'state-temporary', folder: userCache() });
  const found = await Promise.all(
    folders.map(async (usage) => {
      const existing = await existingFolder(usage.folder);
      // The store's examination tries the lake's.
      if (usage.folder !== local) await tryFolder(existing);
      const [{ dev }, { bavail, blocks, bsize }] = await Promise.all([stat(existing), statfs(existing)]);
      return {
        ...usage,
        dev, // Some file systems, such as those of the kernel, have no size.
        free: blocks === 0 ? Infinity : bavail * bsize,
      };
    }),
  );
  for (const onDisk of groupBy(found, ({ dev }) => dev).values()) {
    const free = Math.min(...onDisk.map((usage) => usage.free));
    const uses = [...new Set(onDisk.map(({ use }) => use))].join(', ');
    const [{ folder } = { folder: '' }] = onDisk;
    const state = free < short.fault ? 'fault' : free < short.warning ? 'warning' : 'ok';
    const todo = state === 'ok' ? '' : '; free some space';
    add({ state, found: `${formatBytes(free)} free at ${folder} (${uses})${todo}` });
  }
}
