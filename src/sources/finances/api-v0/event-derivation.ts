import { Dictionary } from '../../../core/columns/dictionary.js';
import { decodeText, type Derivation } from '../../../engine/run/derivation.js';
import { attributes } from './attributes.js';
import { cellNumber, entryDeriver, noText, type EntryReader } from '../model/entry-deriver.js';
import { entryBatch } from './event-batches.js';
import { Flattener } from './flatten.js';
import { emptySubject, newWarnings, SliceRows } from '../model/slice-rows.js';
import { entries, events } from './event-tables.js';

/** Attributes that entries copy from the stored row. */
const storedAttributes = attributes
  .map(({ column }) => column)
  .filter((column) => [events, entries].every(({ columns }) => columns.some(({ name }) => name === column)));

/** Derives entries from stored events. */
export const eventDerivation: Derivation = {
  texts: ['event_id', 'event_list', ...storedAttributes, 'group_id', 'raw'],
  instants: ['posted_at', 'effective_at'],
  begin: () => entryDeriver(storedEvents()),
};

/** Released rows for reuse: their arrays have the size of a batch, and their flattener knows the paths of earlier batches. */
const free: { readonly slice: SliceRows; readonly flattener: Flattener }[] = [];

function newFlattener(): (typeof free)[number] {
  const slice = new SliceRows(attributes, false);
  return { slice, flattener: new Flattener(slice, newWarnings()) };
}

function storedEvents(): EntryReader {
  const used = free.pop() ?? newFlattener();
  const { slice, flattener } = used;
  const lists = new Dictionary();
  const listNames: string[] = [];
  let group: string | undefined;
  return {
    slice,
    reader: (cells) => {
      const [listAt, groupAt] = [cells.texts('event_list'), cells.texts('group_id')];
      const copied = slice.attributes
        .filter(({ column }) => storedAttributes.includes(column))
        .map(({ column, values, numbers }) => ({ values, numbers, textAt: cells.texts(column) }));
      return (raw, row, at) => {
        // Entries contain only the group id of their event's subject.
        const groupId = decodeText(groupAt(row));
        if (at === 0 || groupId !== group) slice.begin({ ...emptySubject, groupId });
        group = groupId;
        const list = cellNumber(lists, listAt(row) ?? noText);
        flattener.addWithin(raw, (listNames[list] ??= lists.value(list)));
        for (const { numbers, values, textAt } of copied) numbers.set(at, cellNumber(values, textAt(row)));
      };
    },
    entries: (table, known, order, memory) => entryBatch(table, { rows: slice, ...known }, order, memory),
    release: () => {
      flattener.clear();
      free.push(used);
    },
  };
}
