import { financialEventGroups } from '../../pipelines/financial-event-groups.js';
import { financialEvents } from '../../pipelines/financial-events.js';
import { groupEventsPipeline } from '../../pipelines/group-events.js';
import { orderEventsPipeline } from '../../pipelines/order-events.js';
import { entries, events, groupEntries, groupEvents, groups, orderEntries, orderEvents } from '../finances/tables.js';

/** A main table, what reads into it, and what a unit of it is. */
export interface MainTable {
  readonly table: string;
  readonly pipeline: string;
  /** The table of its amounts; undefined for `groups`, whose amounts are columns. */
  readonly entries: string | undefined;
  readonly unit: 'window' | 'group' | 'order';
}

export const byDate: MainTable = {
  table: events.name,
  pipeline: financialEvents.name,
  entries: entries.name,
  unit: 'window',
};
export const byGroup: MainTable = {
  table: groupEvents.name,
  pipeline: groupEventsPipeline.name,
  entries: groupEntries.name,
  unit: 'group',
};
const byOrder: MainTable = {
  table: orderEvents.name,
  pipeline: orderEventsPipeline.name,
  entries: orderEntries.name,
  unit: 'order',
};
export const listing: MainTable = {
  table: groups.name,
  pipeline: financialEventGroups.name,
  entries: undefined,
  unit: 'window',
};

/** The tables whose commits make a slice count. */
export const mainTables: readonly MainTable[] = [listing, byDate, byGroup, byOrder];

/** The main table of a name; undefined for a derived one. */
export function mainTable(name: string): MainTable | undefined {
  return mainTables.find(({ table }) => table === name);
}
