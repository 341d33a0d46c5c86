import { financialEventGroups } from '../../../pipelines/financial-event-groups.js';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { groupEventsPipeline } from '../../../pipelines/group-events.js';
import { orderEventsPipeline } from '../../../pipelines/order-events.js';
import type { Table } from '../../core/columns/table.js';
import type { Lake } from '../../lake/lake.js';
import {
  entries,
  events,
  groupEntries,
  groupEvents,
  groups,
  orderEntries,
  orderEvents,
} from '../../sources/finances/model/tables.js';

/** A main table, what reads into it, and what a unit of it is. */
export interface MainTable {
  readonly table: string;
  readonly pipeline: string;
  /** The table of its amounts; undefined for `groups`, whose amounts are columns. */
  readonly entries: string | undefined;
  readonly unit: 'window' | 'group' | 'order';
  /** A user's own pipeline fills it. */
  readonly isOwn?: true;
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

/** The tables of this program whose commits make a slice count. */
const mainTables: readonly MainTable[] = [listing, byDate, byGroup, byOrder];

/** What a table is that files count in by themselves; undefined for a derived one. */
export function mainTable({ name, ownPipeline }: Table): MainTable | undefined {
  if (ownPipeline !== undefined)
    return { table: name, pipeline: ownPipeline, entries: undefined, unit: 'window', isOwn: true };
  return mainTables.find(({ table }) => table === name);
}

/** The main tables of a lake: those of this program, and those that users' own pipelines have filled. */
export function mainTablesOf(lake: Lake): readonly MainTable[] {
  const own = lake.tables.filter(({ schema }) => schema.ownPipeline !== undefined);
  return [...mainTables, ...own.flatMap(({ schema }) => mainTable(schema) ?? [])];
}
