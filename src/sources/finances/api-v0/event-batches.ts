import type { RecordBatch } from 'apache-arrow';
import { Int64Values } from '../../../core/columns/arrays.js';
import { Dictionary } from '../../../core/columns/dictionary.js';
import { Int32List, type ColumnMemory } from '../../../core/columns/memory.js';
import { recordBatch, type Table } from '../../../core/columns/table.js';
import { EntryArrays, EventArrays, type Finished } from '../model/row-arrays.js';
import { marketplaceNamed, marketplaceOfCountry } from '../model/marketplaces.js';
import type { FinishedSlice } from '../model/slice-batches.js';
import { none, type AttributeColumn, type SliceRows } from '../model/slice-rows.js';

/** The events as batches. `memory`: of their columns; left out: each has its own. */
export function finishedSlice(finished: Finished<SliceRows>, memory?: ColumnMemory): FinishedSlice {
  const marketplaces = marketplaceIds(finished.rows);
  return {
    ...finished,
    eventBatch: (table, order) => eventBatch(table, finished, order, memory, marketplaces),
    entryBatch: (table, order) => entryBatch(table, finished, order, memory, marketplaces),
  };
}

/** The events with the given numbers, in that order, as a batch of an events table. */
export function eventBatch(
  table: Table,
  finished: Finished<SliceRows>,
  order: readonly number[],
  memory?: ColumnMemory,
  marketplaces = marketplaceIds(finished.rows),
): RecordBatch {
  const { rows } = finished;
  const chosen = new EventArrays(rows, order, memory);
  return recordBatch(table, order.length, {
    ...chosen.shared(finished),
    ...eventColumns(table, rows, marketplaces, chosen),
  });
}

/** The amounts of the events with the given numbers, event by event in that order, as a batch of an entries table. */
export function entryBatch(
  table: Table,
  finished: Finished<SliceRows>,
  order: readonly number[],
  memory?: ColumnMemory,
  marketplaces = marketplaceIds(finished.rows),
): RecordBatch {
  const { rows } = finished;
  const { entries, items, amountPaths } = rows;
  const chosen = new EntryArrays(rows, order, memory);
  const { arrays } = chosen;
  return recordBatch(table, chosen.length, {
    ...chosen.shared(finished),
    ...eventColumns(table, rows, marketplaces, chosen, ({ values, numbers, items: ofItems }) =>
      ofItems === undefined ? chosen.texts(values, numbers) : chosen.itemTexts(values, ofItems, numbers),
    ),
    path: chosen.pathTexts(amountPaths, ({ path }) => path),
    item: chosen.perItem(arrays.integers(arrays.lookUp(items.index.values, chosen.items))),
    quantity: chosen.perItem(arrays.bigints(new Int64Values(items.quantity), chosen.items)),
    kind: chosen.pathTexts(amountPaths, ({ kind }) => kind),
    name: arrays.dictionaryTexts(rows.names, chosen.gathered(entries.name)),
    role: chosen.pathTexts(amountPaths, ({ role }) => role),
  });
}

/** The columns that events and their amounts have of an event, its attributes among them. */
function eventColumns(
  { columns }: Table,
  { attributes, lists, events }: SliceRows,
  marketplaces: ReturnType<typeof marketplaceIds>,
  chosen: EventArrays | EntryArrays,
  attributeOf = ({ values, numbers }: AttributeColumn) => chosen.texts(values, numbers),
) {
  const given = attributes.filter(({ column }) => columns.some(({ name }) => name === column));
  return {
    ...Object.fromEntries(given.map((attribute) => [attribute.column, attributeOf(attribute)])),
    marketplace_id: chosen.texts(marketplaces.values, marketplaces.numbers),
    event_list: chosen.texts(lists, events.list),
    group_id: chosen.subjectTexts(({ groupId }) => groupId),
  };
}

/** How the id of an event's marketplace follows from the text of an attribute: by the first one that gives it. */
const marketplaceSources: Readonly<Record<string, (text: string) => string | undefined>> = {
  marketplace_code: (text) => (text.length <= 2 ? marketplaceOfCountry(text) : text),
  marketplace: marketplaceNamed,
  store: marketplaceNamed,
};

/** The ids of the events' marketplaces: the distinct ones, and the number of each event's. */
function marketplaceIds({ attributes, events }: SliceRows): {
  readonly values: Dictionary;
  readonly numbers: Int32List;
} {
  const values = new Dictionary();
  const sources = Object.entries(marketplaceSources).flatMap(([name, idOf]) =>
    attributes
      .filter(({ column }) => column === name)
      .map((attribute) => {
        const ids = Int32Array.from({ length: attribute.values.length }, (_, number) => {
          const id = idOf(attribute.values.value(number));
          return id === undefined ? none : values.addString(id);
        });
        return { ids, numbers: attribute.numbers.values };
      }),
  );
  const numbers = new Int32List();
  for (let event = 0; event < events.length; event++) {
    let number: number = none;
    for (const { ids, numbers: texts } of sources) {
      const text = texts[event] ?? none;
      if (text !== none) number = ids[text] ?? none;
      if (number !== none) break;
    }
    numbers.push(number);
  }
  return { values, numbers };
}
