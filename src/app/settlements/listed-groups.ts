import { roles } from '../../../pipelines/all-pipelines.js';
import type { Lake } from '../../lake/lake.js';
import { listedSettlements, type GroupSlice } from '../../sources/finances/api-v0/group-slices.js';

/** Every settlement that an account has listed, the oldest first. */
export function listedGroups(lake: Lake, account: string): GroupSlice[] {
  return listedSettlements(lake, roles.settlements.name, account);
}

/** The listed settlements whose events are not loaded by settlement. */
export function unloadedGroups(lake: Lake, account: string): GroupSlice[] {
  const loaded = lake.snapshot.keysOf(account, roles.bySettlement.name);
  return listedGroups(lake, account).filter(({ loadKeys }) => !loadKeys.some((loadKey) => loaded.has(loadKey)));
}
